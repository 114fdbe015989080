import Foundation

/// What this process has open.
enum Descriptors {
    /// How many descriptors stand for the file at `path`.
    static func count(of path: String) throws -> Int {
        let folder = "/proc/self/fd"
        return try FileManager.default.contentsOfDirectory(atPath: folder).count { number in
            // One that was closed meanwhile is not ours.
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(number)")) == path
        }
    }
}
