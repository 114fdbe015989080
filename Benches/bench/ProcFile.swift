import Foundation
import TestSupport

/// Reads files of the /proc file system, which state no size.
enum ProcFile {
    /// The whole file.
    static func text(_ path: String) throws -> String {
        guard let text = try textIfThere(path) else { throw SupportError("read \(path)", "there is no such process") }
        return text
    }

    /// The same; `nil` if the file's process has ended.
    static func textIfThere(_ path: String) throws -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            guard errno == ENOENT || errno == ESRCH else { throw SupportError("open \(path)", errno: errno) }
            return nil
        }
        defer { close(file) }
        var (all, bytes) = ([UInt8](), [UInt8](repeating: 0, count: 8_192))
        while true {
            let count = read(file, &bytes, bytes.count)
            guard count >= 0 else {
                // A process that has ended but has not been waited for.
                guard errno == ESRCH else { throw SupportError("read \(path)", errno: errno) }
                return nil
            }
            guard count > 0 else { return String(decoding: all, as: UTF8.self) }
            all += bytes.prefix(count)
        }
    }

    /// The value after `name` in a file of lines like `VmHWM:   1234 kB`; `nil` if the file or the name is missing.
    static func value(_ name: String, in path: String) throws -> String? {
        guard let text = try textIfThere(path) else { return nil }
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else { return nil }
        return line.firstIndex(of: ":").map { line[line.index(after: $0)...].trimmingCharacters(in: .whitespaces) }
    }
}
