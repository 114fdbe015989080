import Conversion
import Storage

/// The roots of a worker that are no folders, as they are when a job begins.
struct ObjectRoots: Sendable {
    /// Those that are not set aside, by name.
    let usable: [String: ObjectRoot]
    /// All of them, by name.
    let all: [String: ObjectRoot]

    /// Why a job cannot be done whose output would be in such a root; `nil` for other roots.
    func refusal(ofOutputAt location: Location) -> StorageError? {
        guard let root = all[location.root] else { return nil }
        let why =
            switch root {
            case .bucket: "its root is a bucket, and jobs only read from buckets so far"
            case .web: "its root is on a web server, and jobs only read from web servers"
            }
        return StorageError(
            .rootForbids,
            at: .open,
            "write the output",
            why,
            place: "\(location)",
            hint: "name a root that is a folder"
        )
    }
}
