import CLibAV

/// The MD5 of interleaved samples in the machine's byte order, as FLAC and `ffmpeg -f md5` compute it.
///
/// It shows whether two paths gave the same samples. It does not protect against forgery.
public final class PCMDigest {
    /// A digest and the number of bytes that it covers.
    public struct Value: Sendable, Hashable {
        /// 32 lower-case hexadecimal digits.
        public let hex: String
        public let bytes: Int64
    }

    private var context: OpaquePointer?
    private var bytes: Int64 = 0
    private var interleaved: [UInt8] = []
    private var finished: Value?
    /// A mask of the bits of a 32-bit sample that count.
    private let kept: UInt32

    /// Only the upper `bits` of 32-bit samples count: an encoder of that depth drops the bits below.
    init(bits: Int = 32) {
        kept = (1..<32).contains(bits) ? ~0 << UInt32(32 - bits) : ~0
        // Every build of libavutil has it: no option leaves it out.
        guard av_hash_alloc(&context, "MD5") >= 0 else { fatalError("libavutil has no MD5") }
        av_hash_init(context)
    }

    deinit { av_hash_freep(&context) }

    func update(_ block: borrowing SampleBlock) {
        guard let shape = block.shape, block.frameCount > 0 else { return }
        let isNarrowed = kept != ~0 && shape.format.interleaved == .s32
        if !isNarrowed, !shape.format.isPlanar || shape.channelCount == 1 {
            block.withPlane(0) { plane in
                bytes += Int64(plane.count)
                av_hash_update(context, plane.baseAddress, plane.count)
            }
            return
        }
        let (width, channels) = (shape.format.bytesPerSample, shape.channelCount)
        let count = block.frameCount * width * channels
        if interleaved.count < count { interleaved = [UInt8](repeating: 0, count: count) }
        interleaved.withUnsafeMutableBytes { target in
            if shape.format.isPlanar {
                block.interleave(0..<block.frameCount, into: target)
            } else {
                block.withPlane(0) { target.copyMemory(from: $0) }
            }
            if isNarrowed {
                let words = target.bindMemory(to: UInt32.self)
                for word in 0..<count / width { words[word] &= kept }
            }
            bytes += Int64(count)
            av_hash_update(context, target.baseAddress, count)
        }
    }

    /// The digest of all samples so far. Reading it finalises the digest: add nothing afterwards.
    var value: Value {
        if let finished { return finished }
        var text = [CChar](repeating: 0, count: Int(AV_HASH_MAX_SIZE) * 2 + 1)
        text.withUnsafeMutableBytes { av_hash_final_hex(context, $0.baseAddress, Int32($0.count)) }
        let value = Value(
            hex: String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self),
            bytes: bytes
        )
        finished = value
        return value
    }
}
