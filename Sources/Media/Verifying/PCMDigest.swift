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

    private let sum: MessageDigest
    private var bytes: Int64 = 0
    private var interleaved: [UInt8] = []
    private var finished: Value?
    /// A mask of the bits of a 32-bit sample that count.
    private let kept: UInt32

    /// Only the upper `bits` of 32-bit samples count: an encoder of that depth drops the bits below.
    init(bits: Int = 32) {
        kept = (1..<32).contains(bits) ? ~0 << UInt32(32 - bits) : ~0
        // Every libavutil has it, so memory is lacking. Allocations of Swift end the process then, too.
        guard let sum = MessageDigest(.md5) else { fatalError("no memory for an MD5") }
        self.sum = sum
    }

    func update(_ block: borrowing SampleBlock) {
        guard let shape = block.shape, block.frameCount > 0 else { return }
        let isNarrowed = kept != ~0 && shape.format.interleaved == .s32
        if !isNarrowed, !shape.format.isPlanar || shape.channelCount == 1 {
            block.withPlane(0) { plane in
                bytes += Int64(plane.count)
                sum.update(plane)
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
            sum.update(UnsafeRawBufferPointer(rebasing: target[..<count]))
        }
    }

    /// The digest of all samples so far. Reading it finalises the digest: add nothing afterwards.
    var value: Value {
        if let finished { return finished }
        let value = Value(hex: sum.finishHex(), bytes: bytes)
        finished = value
        return value
    }
}
