import Foundation
import TestSupport

/// What the kernel tells in files that have no size.
enum ProcFile {
    /// The beginning of the file: far more than what is asked for here.
    static func text(_ path: String) throws -> String {
        let file = try OpenFile.reading(path)
        var bytes = [UInt8](repeating: 0, count: 8192)
        let count = read(file.descriptor, &bytes, bytes.count)
        guard count >= 0 else { throw SupportError("read \(path)", errno: errno) }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    /// The same; `nil` if the process whose file it is has ended.
    static func textIfThere(_ path: String) throws -> String? {
        do {
            return try text(path)
        } catch {
            guard access(path, F_OK) != 0 else { throw error }
            return nil
        }
    }

    /// What stands behind `name` in a file of lines like `VmHWM:   1234 kB`; `nil` if it does not say.
    static func value(_ name: String, in path: String) throws -> String? {
        guard let text = try textIfThere(path) else { return nil }
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else { return nil }
        return line.firstIndex(of: ":").map { line[line.index(after: $0)...].trimmingCharacters(in: .whitespaces) }
    }
}
