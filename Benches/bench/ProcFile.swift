import Foundation
import TestSupport

/// What the kernel tells in files that have no size.
enum ProcFile {
    /// The beginning of the file: far more than what is asked for here.
    static func text(_ path: String) throws -> String {
        guard let text = try textIfThere(path) else { throw SupportError("read \(path)", "there is no such process") }
        return text
    }

    /// The same; `nil` if the process whose file it is has ended.
    static func textIfThere(_ path: String) throws -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            guard errno == ENOENT || errno == ESRCH else { throw SupportError("open \(path)", errno: errno) }
            return nil
        }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 8192)
        let count = read(file, &bytes, bytes.count)
        guard count >= 0 else {
            // One that has ended and is not yet waited for.
            guard errno == ESRCH else { throw SupportError("read \(path)", errno: errno) }
            return nil
        }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    /// What stands behind `name` in a file of lines like `VmHWM:   1234 kB`; `nil` if it does not say.
    static func value(_ name: String, in path: String) throws -> String? {
        guard let text = try textIfThere(path) else { return nil }
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else { return nil }
        return line.firstIndex(of: ":").map { line[line.index(after: $0)...].trimmingCharacters(in: .whitespaces) }
    }
}
