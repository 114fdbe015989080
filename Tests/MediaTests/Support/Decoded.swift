import Conversion
import Media
import TestSupport

/// Everything that Sluice's reader gives for a file: its description, and all samples of its main track.
struct Decoded {
    let description: SourceDescription
    let track: Track
    /// The format of the blocks; `nil` if there were none.
    let shape: SampleShape?
    /// The interleaved samples, in the decoder's sample width.
    let bytes: [UInt8]
    let damage: DamageAccount

    var frames: Int { shape.map { bytes.count / $0.bytesPerFrame } ?? 0 }

    /// The same samples as TestSupport's PCM.
    var pcm: PCM {
        PCM(
            rate: shape?.sampleRateHz ?? track.sampleRateHz,
            channels: shape?.channelCount ?? track.channelCount,
            format: shape?.format.pcm ?? .s16,
            bytes: bytes
        )
    }

    static func file(
        _ path: String,
        raw: RawShape? = nil,
        damage: DamageMode = .strict,
        concealSeconds: Int? = nil
    ) throws -> Decoded {
        let file = try OpenFile.reading(path)
        return try descriptor(
            file.descriptor,
            nameHint: path,
            raw: raw,
            damage: damage,
            concealSeconds: concealSeconds
        )
    }

    static func descriptor(
        _ descriptor: Int32,
        nameHint: String? = nil,
        raw: RawShape? = nil,
        damage: DamageMode = .strict,
        concealSeconds: Int? = nil
    ) throws -> Decoded {
        let reader = try Reader(
            descriptor: descriptor,
            options: .init(nameHint: nameHint, raw: raw, damage: damage, concealSeconds: concealSeconds)
        )
        let track = try reader.track()
        let output = try reader.samples(of: track)
        var block = try SampleBlock()
        var bytes: [UInt8] = []
        var shape: SampleShape?
        while try output.next(into: &block) {
            shape = block.shape
            block.appendInterleaved(to: &bytes)
        }
        return Decoded(
            description: reader.description,
            track: track,
            shape: shape,
            bytes: bytes,
            damage: output.damage
        )
    }
}

extension SampleBlock {
    /// Appends the samples of all channels, interleaved.
    borrowing func appendInterleaved(to bytes: inout [UInt8]) {
        guard let shape else { return }
        guard shape.format.isPlanar, shape.channelCount > 1 else {
            return withPlane(0) { bytes.append(contentsOf: $0) }
        }
        let (width, channels, start) = (shape.format.bytesPerSample, shape.channelCount, bytes.count)
        bytes.append(contentsOf: repeatElement(0, count: frameCount * shape.bytesPerFrame))
        for channel in 0..<channels {
            withPlane(channel) { plane in
                bytes.withUnsafeMutableBytes { out in
                    guard let from = plane.baseAddress, let to = out.baseAddress else { return }
                    var frame = 0
                    var target = start + channel * width
                    while frame < plane.count {
                        (to + target).copyMemory(from: from + frame, byteCount: width)
                        frame &+= width
                        target &+= width &* channels
                    }
                }
            }
        }
    }
}

extension SampleFormat {
    fileprivate var pcm: PCM.SampleFormat {
        switch interleaved {
        case .u8: .u8
        case .s16: .s16
        case .s32: .s32
        case .f32: .f32
        default: .f64
        }
    }
}
