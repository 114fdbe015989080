import Console
import Conversion
import PumpRoom
import Storage

/// Has pump rooms read the tags and lengths of files. Nothing is decoded.
enum BookProbing {
    /// The same files with what rooms have found out about them. `path` says where one is on this machine; files that are
    /// elsewhere stay as they are. Throws `StoppedBySignal` if a signal interrupts it.
    static func look(
        into files: [Book.File],
        raw: Recipe.RawDescription? = nil,
        _ invocation: Invocation,
        _ console: CommandOutput,
        path: @escaping @Sendable (Book.File) -> String?
    ) throws -> [Book.File] {
        try SourceProbing.run(files.count, invocation, console) { place, room in
            var file = files[place]
            guard let path = path(file) else { return file }
            do {
                // Regular files only: opening a pipe would wait for a writer.
                let source = try SourceFile.open(path)
                let options = ProbeOptions(nameHint: path, raw: raw)
                let report = try room.describe(source.descriptor, options) { _ in }
                file.facts = Book.Facts(report)
                if file.facts == nil { file.problem = "no sound" }
            } catch {
                let failure = Failure(of: error)
                file.problem = "\(failure.code), \(failure.message)"
            }
            return file
        }
    }
}

extension Book.Facts {
    /// `nil` if the file has no sound.
    init?(_ report: SourceReport) {
        guard let track = report.tracks.first(where: \.isMain) else { return nil }
        var values: [String: String] = [:]
        for tag in report.tags where !tag.isTechnical {
            let name = TagTable.commonName(ofKey: tag.name)
            if values[name] == nil { values[name] = tag.values?.first ?? tag.value }
        }
        (self.track, tracks) = Self.number(values["tracknumber"], of: values["totaltracks"])
        (disc, discs) = Self.number(values["discnumber"], of: values["totaldiscs"])
        title = values["title"].flatMap { $0.isEmpty ? nil : $0 }
        if let frames = track.frames, track.sampleRateHz > 0 {
            length = MediaTime(frames: frames, rate: track.sampleRateHz)
            isExact = track.exactness == .exact
        }
        packets = BookPackets(track)
        chapters = report.chapters
        cover = report.cover.map { "\($0.width) x \($0.height)" }
    }

    /// The numbers in `3/12`, or in `3` and `12`.
    static func number(_ text: String?, of total: String?) -> (Int?, Int?) {
        let parts = (text ?? "").split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        return (whole(parts.first.map(String.init)), whole(parts.dropFirst().first.map(String.init)) ?? whole(total))
    }

    private static func whole(_ text: String?) -> Int? {
        // Zero stands for an unknown number.
        let words = (text ?? "").split(whereSeparator: \.isWhitespace)
        guard words.count == 1, let number = Int(words[0]), (1...99_999).contains(number) else { return nil }
        return number
    }
}
