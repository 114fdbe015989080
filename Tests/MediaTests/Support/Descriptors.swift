import Foundation

/// The open descriptors of this process.
enum Descriptors {
    /// How many descriptors refer to the file at `path`.
    static func count(of path: String) throws -> Int {
        let folder = "/proc/self/fd"
        return try FileManager.default.contentsOfDirectory(atPath: folder).count { number in
            // `try?`: a descriptor that was closed meanwhile does not count.
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(number)")) == path
        }
    }
}
