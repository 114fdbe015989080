import Conversion

/// Computes the `SoundDigest` of a track that is decoded from its first frame to its last.
///
/// libav computes the SHA-256: a locked room may not load another library. It costs less than decoding FLAC.
final class SoundDigester {
    private let codec: String
    private let bitDepth: Int
    /// Whether it covers the packets, and not the samples.
    let coversPackets: Bool
    private let sum: MessageDigest
    private var scratch: [UInt8] = []
    /// Of the last block; `nil` before the first.
    private var shape: SampleShape?
    private var first: SampleShape?

    /// Only what decodes to the same integers or copies its bytes everywhere is covered by its samples.
    init(_ track: Track) {
        codec = track.codecName
        bitDepth = track.bitDepth
        coversPackets = !track.isLossless || track.isFloat && !track.codec.packets.isPCM
        // Every libavutil has it, so memory is lacking. Allocations of Swift end the process then, too.
        guard let sum = MessageDigest(.sha256) else { fatalError("no memory for a SHA-256") }
        self.sum = sum
    }

    func add(_ packet: borrowing Packet) {
        guard coversPackets else { return }
        packet.withBytes { add($0) }
    }

    func add(_ block: borrowing SampleBlock) {
        guard let shape = block.shape, block.frameCount > 0 else { return }
        if first == nil { first = shape }
        guard !coversPackets else { return }
        // What follows a change of format is other sound than the same bytes in the format before.
        if let last = self.shape, last.sampleRateHz != shape.sampleRateHz || last.channelCount != shape.channelCount {
            Array("\(form(of: shape)) \(shape.sampleRateHz) \(shape.channelCount)".utf8).withUnsafeBytes { add($0) }
        }
        self.shape = shape
        let (width, kept, channels) = (shape.format.bytesPerSample, keptBytes(of: shape), shape.channelCount)
        if kept == width, !shape.format.isPlanar || channels == 1 { return block.withPlane(0) { add($0) } }
        let count = block.frameCount * kept * channels
        if scratch.count < count { scratch = [UInt8](repeating: 0, count: count) }
        scratch.withUnsafeMutableBytes { out in
            for channel in 0..<channels {
                let isPlanar = shape.format.isPlanar
                block.withPlane(isPlanar ? channel : 0) { plane in
                    // Little-endian, as all machines are on which Sluice runs: the upper bytes come last.
                    var source = (isPlanar ? 0 : channel * width) + width - kept
                    var target = channel * kept
                    for _ in 0..<block.frameCount {
                        for byte in 0..<kept { out[target + byte] = plane[source + byte] }
                        source += isPlanar ? width : width * channels
                        target += kept * channels
                    }
                }
            }
            add(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(out)[..<count]))
        }
    }

    private func add(_ bytes: UnsafeRawBufferPointer) {
        if !bytes.isEmpty { sum.update(bytes) }
    }

    /// A decoder delivers samples in the upper bits.
    private func keptBytes(of shape: SampleShape) -> Int {
        let width = shape.format.bytesPerSample
        guard shape.format.kind == .integer, bitDepth > 0 else { return width }
        return min(width, (bitDepth + 7) / 8)
    }

    /// `s24le`, as ffmpeg names it.
    private func form(of shape: SampleShape) -> String {
        let bits = 8 * keptBytes(of: shape)
        switch shape.format.interleaved {
        case .u8: return "u8"
        case .f32, .f64: return "f\(bits)le"
        case _ where bits == 8: return "s8"
        default: return "s\(bits)le"
        }
    }

    /// The digest of all that was added; `nil` if no sound was decoded. Call it once.
    func finish() -> SoundDigest? {
        guard let first else { return nil }
        return SoundDigest(
            sha256: sum.finishHex(),
            form: coversPackets ? "packets \(codec)" : form(of: first),
            sampleRateHz: first.sampleRateHz,
            channelCount: first.channelCount
        )
    }
}
