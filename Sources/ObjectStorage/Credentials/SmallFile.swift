import Glibc
import System

/// A file that is read whole: a list of settings, or a token.
enum SmallFile {
    /// No such file is longer.
    static let longest = 1 << 20

    /// The bytes of the file at `path`; `nil` if there is none. Throws if it cannot be read.
    static func read(_ path: String) throws(CredentialError) -> [UInt8]? {
        let opened = retryingInterrupts { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        guard opened >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw CredentialError("cannot read \(path): \(String(cString: strerror(errno)))")
        }
        let file = Descriptor(adopting: opened)
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = retryingInterrupts { Glibc.read(file.number, &piece, piece.count) }
            guard count >= 0 else {
                throw CredentialError("cannot read \(path): \(String(cString: strerror(errno)))")
            }
            guard count > 0 else { return bytes }
            bytes += piece[..<count]
            guard bytes.count <= longest else { throw CredentialError("\(path) is longer than 1 MiB") }
        }
    }

    /// The first line of the file, without white space around it. Throws if there is none.
    static func readLine(_ path: String) throws(CredentialError) -> String {
        guard let bytes = try read(path) else { throw CredentialError("there is no file \(path)") }
        let text = String(decoding: bytes, as: UTF8.self)
        guard let line = text.split(whereSeparator: \.isNewline).map(\.trimmed).first(where: { !$0.isEmpty }) else {
            throw CredentialError("the file \(path) is empty")
        }
        return line
    }
}
