import Conversion
import TestSupport

@testable import Media

/// Everything that a reader gave for a source, as PCM.
struct ReadBack {
    /// A stretch of samples in one format.
    struct Stretch {
        let pcm: PCM
        /// The number of the first frame, according to the reader.
        let position: Int64
    }

    /// Samples in the order of arrival, split wherever rate, channels, format or position jump.
    private(set) var stretches: [Stretch] = []
    let description: SourceDescription
    let track: Track
    let damage: DamageAccount
    let deliveredFrames: Int64
    let decodedPackets: Int
    let readBytes: Int64

    /// All samples, if they have the same format.
    var pcm: PCM { get throws { try PCM.joined(stretches.map(\.pcm)) } }

    static func file(
        _ path: String,
        _ ranges: [MediaTimeRange] = [],
        track index: Int? = nil,
        options: Reader.Options = .init()
    ) throws -> ReadBack {
        let file = try OpenFile.reading(path)
        var options = options
        if options.nameHint == nil { options.nameHint = path }
        return try ReadBack(descriptor: file.descriptor, ranges, track: index, options: options)
    }

    init(
        descriptor: Int32,
        _ ranges: [MediaTimeRange] = [],
        track index: Int? = nil,
        options: Reader.Options = .init()
    ) throws {
        let reader = try Reader(descriptor: descriptor, options: options)
        description = reader.description
        track = try reader.track(index)
        let output = try reader.samples(of: track, ranges: ranges)
        var block = try SampleBlock()
        var growing: Growing?
        while try output.next(into: &block) {
            let shape = block.shape!
            if let known = growing, !known.isFollowed(by: shape, at: block.position, track) {
                stretches.append(try known.stretch())
                growing = nil
            }
            if growing == nil { growing = Growing(shape: shape, position: block.position) }
            growing!.append(block)
        }
        if let known = growing { stretches.append(try known.stretch()) }
        damage = output.damage
        deliveredFrames = output.deliveredFrames
        decodedPackets = output.decodedPackets
        readBytes = reader.demuxer.source.readBytes
    }
}

/// A stretch that still grows as blocks arrive.
private struct Growing {
    let shape: SampleShape
    let position: Int64
    private var bytes: [UInt8] = []

    init(shape: SampleShape, position: Int64) {
        self.shape = shape
        self.position = position
    }

    func isFollowed(by next: SampleShape, at place: Int64, _ track: Track) -> Bool {
        // At a rate other than the track's, the reader's clock is rounded.
        let end = position + Int64(bytes.count / shape.bytesPerFrame)
        return next == shape && (shape.sampleRateHz != track.sampleRateHz || place == end)
    }

    mutating func append(_ block: borrowing SampleBlock) {
        let (channels, width) = (shape.channelCount, shape.format.bytesPerSample)
        guard shape.format.isPlanar, channels > 1 else {
            return block.withPlane(0) { bytes.append(contentsOf: $0) }
        }
        let start = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: block.frameCount * channels * width))
        bytes.withUnsafeMutableBytes { all in
            for channel in 0..<channels {
                block.withPlane(channel) { plane in
                    var (from, to) = (plane.baseAddress!, all.baseAddress! + start + channel * width)
                    for _ in 0..<block.frameCount {
                        to.copyMemory(from: from, byteCount: width)
                        from += width
                        to += channels * width
                    }
                }
            }
        }
    }

    func stretch() throws -> ReadBack.Stretch {
        let format: PCM.SampleFormat =
            switch shape.format.interleaved {
            case .u8: .u8
            case .s16: .s16
            case .s32: .s32
            case .f32: .f32
            case .f64: .f64
            default: throw SupportError("read back", "\(shape.format) has no PCM format here")
            }
        let pcm = PCM(rate: shape.sampleRateHz, channels: shape.channelCount, format: format, bytes: bytes)
        return ReadBack.Stretch(pcm: pcm, position: position)
    }
}
