import Conversion
import Storage

/// The buckets of a worker, as they are when a job begins.
struct BucketRoots: Sendable {
    /// Those that are not set aside, by name.
    let usable: [String: BucketRoot]
    /// Of all buckets.
    let names: Set<String>

    /// Why a job cannot be done whose output would be in a bucket; `nil` for other roots.
    func refusal(ofOutputAt location: Location) -> StorageError? {
        guard names.contains(location.root) else { return nil }
        return StorageError(
            .rootForbids,
            at: .open,
            "write the output",
            "its root is a bucket, and jobs only read from buckets so far",
            place: "\(location)",
            hint: "name a root that is a folder"
        )
    }
}
