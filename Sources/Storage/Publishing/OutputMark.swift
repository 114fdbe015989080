import Glibc
import System

/// A record in an extended attribute of an output: the ledger and job that made it, from what, and its fingerprint.
///
/// A ledger that lost its last commits in a failover hands out jobs again whose outputs already have their names. A
/// job recognises its own output by the mark. Marks are written before a file gets any name, and move with the file.
struct OutputMark: Hashable {
    let ledger: UInt32
    let job: Int64
    /// A number for the recipe and the source that the output was made from.
    let work: UInt64
    let fingerprint: Fingerprint

    /// An ext4 inode of the usual size has space for a value of 64 bytes and no more. A longer value costs each file
    /// a block.
    static let byteCount = 64
    static let name = "user.sluice"
    private static let head = Array("SLU1".utf8)

    var bytes: [UInt8] {
        var bytes = Self.head
        bytes.append(bigEndian: ledger)
        bytes.append(bigEndian: UInt64(bitPattern: job))
        bytes.append(bigEndian: work)
        bytes.append(bigEndian: UInt64(bitPattern: fingerprint.byteCount))
        return bytes + fingerprint.sha256
    }
}

extension OutputMark {
    /// `nil` if `bytes` is not a mark of a known version.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, bytes.starts(with: Self.head) else { return nil }
        func number(at start: Int, _ count: Int) -> UInt64 {
            bytes[start..<start + count].reduce(0) { $0 << 8 | UInt64($1) }
        }
        let (job, byteCount) = (Int64(bitPattern: number(at: 8, 8)), Int64(bitPattern: number(at: 24, 8)))
        guard job > 0, byteCount >= 0 else { return nil }
        self.init(
            ledger: UInt32(number(at: 4, 4)),
            job: job,
            work: number(at: 16, 8),
            fingerprint: Fingerprint(byteCount: byteCount, sha256: Array(bytes[32...]))
        )
    }

    /// The result of looking for a mark.
    enum Finding: Hashable {
        case mark(OutputMark)
        /// There is no mark, or none that can be read.
        case none
        /// The file system does not support such attributes.
        case unsupported
    }

    /// The mark of an open file.
    static func read(from descriptor: Int32) -> Finding {
        // One byte longer than a mark, so that a longer value is recognised and rejected.
        var bytes = [UInt8](repeating: 0, count: byteCount + 1)
        let count = SystemCall.attribute(name, of: descriptor, into: &bytes)
        if count < 0 { return errno == EOPNOTSUPP || errno == ENOSYS ? .unsupported : .none }
        return OutputMark(Array(bytes.prefix(count))).map(Finding.mark) ?? .none
    }

    /// Marks an open file. Errors are ignored: an output without a mark is recognised by its bytes.
    func write(to descriptor: Int32) {
        _ = SystemCall.setAttribute(Self.name, of: descriptor, to: bytes)
    }
}

extension [UInt8] {
    fileprivate mutating func append(bigEndian number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }
}
