import Console
import Conversion
import Glibc
import Storage
import System

extension SourceFile {
    /// Opens the source that a command-line word names. `-` is standard input; pipes and devices are allowed.
    static func opening(word: String) throws(StorageError) -> SourceFile {
        word == "-"
            ? try standardInput() : try open(word, allowing: [.file, .pipe, .characterDevice, .blockDevice])
    }

    /// All bytes of the file that a command-line word names. Throws a `Refusal` if it cannot be read, or if it is
    /// longer than `limit`.
    static func contents(word: String, limit: Int = .max) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try forEachBlock(word: word) { block in
            bytes += block
            guard bytes.count <= limit else {
                throw Refusal(message: "\(word) is too large: at most \(Figures.bytes(Int64(limit))) are read")
            }
        }
        return bytes
    }

    /// Calls `visit` with the bytes of such a file, block by block. Throws a `Refusal` if it cannot be read.
    static func forEachBlock(word: String, _ visit: (ArraySlice<UInt8>) throws -> Void) throws {
        let source: SourceFile
        do throws(StorageError) {
            source = try SourceFile.opening(word: word)
        } catch {
            let failure = Failure(of: error)
            throw Refusal(message: failure.message, hint: failure.hint, exitCode: failure.exitCode)
        }
        var block = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(source.descriptor, &block, block.count)
            if count == 0 { return }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Refusal(message: "cannot read \(word): \(systemText(errno))") }
            try visit(block[..<count])
        }
    }
}
