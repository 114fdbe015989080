import Foundation

/// A new temporary folder, removed with its contents when the last reference goes.
public final class TemporaryFolder: Sendable {
    /// The full path, without a slash at the end.
    public let path: String

    /// Takes ownership of the folder at `path`.
    private init(adopting path: String) { self.path = path }

    deinit {
        // A folder that cannot be removed stays in the temporary directory; no test depends on it.
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Creates a folder in the system's temporary directory.
    public static func create() throws -> TemporaryFolder {
        var template = Array((NSTemporaryDirectory() + "/sluice-test-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else { throw SupportError("create a temporary folder", errno: errno) }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return TemporaryFolder(adopting: path.replacingOccurrences(of: "//", with: "/"))
    }

    /// The full path of `name` in this folder. Creates nothing.
    public func path(_ name: String) -> String { path + "/" + name }

    /// The names of the entries in this folder, sorted.
    public func names() throws -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path).sorted()
        } catch {
            throw SupportError("list \(path)", "\(error)")
        }
    }
}
