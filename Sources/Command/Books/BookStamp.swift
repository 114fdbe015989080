import Ledger
import Storage

extension SourceStamp {
    /// The stamp of a book: the size of all files and the time of the latest change. `nil` without files.
    ///
    /// Below a millisecond, the time is a fingerprint of all names, sizes and times in their order. Without it, two files that
    /// exchange their names would leave the stamp as it was.
    static func whole(_ files: [(place: String, stamp: SourceStamp)]) -> SourceStamp? {
        guard let latest = files.map(\.stamp.modified).max() else { return nil }
        var digest = RunningFingerprint()
        var bytes: Int64 = 0
        for (place, stamp) in files {
            // A file server may tell any sizes.
            bytes = bytes.addingReportingOverflow(stamp.bytes).partialValue
            digest.add(place)
            digest.add("\(stamp.bytes) \(stamp.modified)")
        }
        let fingerprint = digest.finish().sha256.prefix(3).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        let below: Int64 = 1 << 20
        return SourceStamp(bytes: bytes, modified: latest & ~(below - 1) | fingerprint & (below - 1))
    }
}
