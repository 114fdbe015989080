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
            format: shape.map { $0.format.stored ?? .f64 } ?? .s16,
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
            return withPlane(0) { Bytes.append($0, to: &bytes) }
        }
        let (width, channels, start) = (shape.format.bytesPerSample, shape.channelCount, bytes.count)
        Bytes.appendZeros(frameCount * shape.bytesPerFrame, to: &bytes)
        for channel in 0..<channels {
            withPlane(channel) {
                Bytes.interleave($0, width: width, channel: channel, of: channels, into: &bytes, at: start)
            }
        }
    }
}

extension SampleFormat {
    /// How interleaved samples of this format are stored in a file; `nil` for integers of 64 bits.
    var stored: PCM.SampleFormat? {
        switch interleaved {
        case .u8: .u8
        case .s16: .s16
        case .s32: .s32
        case .f32: .f32
        case .f64: .f64
        default: nil
        }
    }
}
