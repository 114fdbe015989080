import CLibAV

/// An MD5 or SHA-256, computed by libavutil.
final class MessageDigest {
    enum Kind: String {
        case md5 = "MD5"
        case sha256 = "SHA256"

        fileprivate var byteCount: Int { self == .md5 ? 16 : 32 }
    }

    private let kind: Kind
    private var context: OpaquePointer?

    /// `nil` without memory.
    init?(_ kind: Kind) {
        self.kind = kind
        guard av_hash_alloc(&context, kind.rawValue) >= 0 else { return nil }
        av_hash_init(context)
    }

    deinit { av_hash_freep(&context) }

    func update(_ bytes: UnsafeRawBufferPointer) { av_hash_update(context, bytes.baseAddress, bytes.count) }

    /// The 16 or 32 bytes of the digest. Add nothing after this call.
    func finish() -> [UInt8] {
        var sum = [UInt8](repeating: 0, count: Int(AV_HASH_MAX_SIZE))
        av_hash_final_bin(context, &sum, Int32(sum.count))
        return Array(sum.prefix(kind.byteCount))
    }

    /// The same in lower-case hexadecimal digits.
    func finishHex() -> String {
        let digits = Array("0123456789abcdef".utf8)
        let hex = finish().flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: hex, as: UTF8.self)
    }
}
