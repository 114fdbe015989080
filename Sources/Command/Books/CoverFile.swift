import Conversion
import Glibc
import Storage

/// A file that may become the cover of a book. Its header is read, and no more.
enum CoverFile {
    /// Why the file cannot be the cover, after its name: `is neither a JPEG nor a PNG picture`; `nil` if it can. Another one
    /// would make the job fail, or players would not show it, which is no problem of a file that the user has chosen.
    static func problem(_ path: String, isChosen: Bool = false) -> String? {
        let source: SourceFile
        do throws(StorageError) {
            source = try SourceFile.open(path)
        } catch {
            return "cannot be read: \(error.detail)"
        }
        guard source.byteCount <= Int64(PictureHeader.mostFileBytes) else {
            return "has \(Figures.bytes(source.byteCount)) and must have less than \(PictureHeader.mostBytes >> 20) MiB"
        }
        let descriptor = source.descriptor
        guard let header = PictureHeader(reading: { read(descriptor, at: $0, $1) }) else {
            return "is neither a JPEG nor a PNG picture"
        }
        guard header.hasPossibleSides else { return "is a picture of \(header.width) x \(header.height) pixels" }
        return header.isCommon || isChosen
            ? nil : "is a \(header.isPNG ? "PNG" : "JPEG") of a kind that players do not show"
    }

    /// Fewer bytes at the end of the file, and where it cannot be read.
    private static func read(_ descriptor: Int32, at place: Int, _ count: Int) -> ArraySlice<UInt8> {
        var bytes = [UInt8](repeating: 0, count: count)
        while true {
            let got = pread(descriptor, &bytes, count, off_t(place))
            if got < 0, errno == EINTR { continue }
            return bytes.prefix(max(0, got))
        }
    }
}
