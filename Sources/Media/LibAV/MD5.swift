import CLibAV

/// An MD5, computed by libavutil.
final class MD5 {
    private var context: OpaquePointer?

    private static let byteCount = 16

    /// `nil` without memory.
    init?() {
        guard av_hash_alloc(&context, "MD5") >= 0 else { return nil }
        av_hash_init(context)
    }

    deinit { av_hash_freep(&context) }

    func update(_ bytes: UnsafeRawBufferPointer) { av_hash_update(context, bytes.baseAddress, bytes.count) }

    /// The 16 bytes of the MD5. Add nothing after this call.
    func finish() -> [UInt8] {
        var sum = [UInt8](repeating: 0, count: Int(AV_HASH_MAX_SIZE))
        av_hash_final_bin(context, &sum, Int32(sum.count))
        return Array(sum.prefix(Self.byteCount))
    }
}
