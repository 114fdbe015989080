import Conversion
import Glibc
import Hashing
import System

/// Identifies the contents of a finished file: its length and its SHA-256.
public struct Fingerprint: Sendable, Hashable {
    public let byteCount: Int64
    /// 32 bytes.
    public let sha256: [UInt8]

    public init(byteCount: Int64, sha256: [UInt8]) {
        precondition(sha256.count == 32, "a SHA-256 has 32 bytes")
        self.byteCount = byteCount
        self.sha256 = sha256
    }

    /// The digest in 64 hexadecimal digits, as `sha256sum` prints it.
    public var hexDigest: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: sha256.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Hashes the whole file, whatever the offset of `descriptor`; `nil` with `errno` set if it cannot be read.
    ///
    /// A file that turns out to be longer than it was at the beginning is not read to its end, which another process may
    /// move without end. The length of the result is then greater than the file had.
    static func of(_ descriptor: Int32) -> Fingerprint? { of(descriptor, while: { true }) ?? nil }

    /// The same; `nil` also once `isWanted` returns false.
    package static func ofOpenFile(_ descriptor: Int32, while isWanted: () -> Bool) -> Fingerprint? {
        of(descriptor, while: isWanted) ?? nil
    }

    private static let largestBlock: Int64 = 1 << 18

    /// The same; a non-`nil` result that holds `nil` if `isWanted` returned false before the end.
    static func of(_ descriptor: Int32, while isWanted: () -> Bool) -> Fingerprint?? {
        guard let length = FileFacts.of(descriptor)?.byteCount else { return .none }
        let hash = SHA256Hash()
        // One byte more than a small file has, so that its end shows with the first call. A large block would be mapped
        // and cleared for each of many small files.
        let size = Int(clamping: min(max(length, 0), Self.largestBlock - 1)) + 1
        var block = [UInt8](repeating: 0, count: size)
        var offset: Int64 = 0
        while isWanted() {
            let count = retryingInterrupts { pread(descriptor, &block, block.count, off_t(offset)) }
            if count < 0 { return .none }
            block.withUnsafeBytes { hash.add(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            offset += Int64(count)
            let isAtEnd = count == 0 || offset == length && count < block.count
            if isAtEnd || offset > length {
                return .some(Fingerprint(byteCount: offset, sha256: hash.finish()))
            }
            FileCalls.goesOn()
        }
        return .some(nil)
    }
}

/// Computes the fingerprint of a sequence of strings.
public struct RunningFingerprint: ~Copyable {
    private let hash = SHA256Hash()
    private var byteCount: Int64 = 0

    public init() {}

    /// Adds a string together with its length, so that "ab", "c" differs from "a", "bc".
    public mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { hash.add($0) }
            hash.add(UnsafeRawBufferPointer(bytes))
            byteCount += Int64(bytes.count) + 8
        }
    }

    /// The fingerprint of all strings added.
    public consuming func finish() -> Fingerprint { Fingerprint(byteCount: byteCount, sha256: hash.finish()) }
}

extension SourceFile {
    /// Length and SHA-256 of the whole file; `nil` once `isWanted` returns false. Drops the file from the page cache
    /// afterwards, because a checked file is not read again soon.
    public func fingerprint(while isWanted: () -> Bool = { true }) throws(StorageError) -> Fingerprint? {
        // Only advice: reading works without it, so a failure is ignored.
        _ = posix_fadvise(descriptor, 0, 0, Int32(POSIX_FADV_SEQUENTIAL))
        defer { _ = posix_fadvise(descriptor, 0, 0, Int32(POSIX_FADV_DONTNEED)) }
        guard let found = Fingerprint.of(descriptor, while: isWanted) else {
            throw StorageError(errno: errno, .source, at: .open, "read the file", place: "the output")
        }
        return found
    }
}
