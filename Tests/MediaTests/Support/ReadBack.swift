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

    mutating func append(_ block: borrowing SampleBlock) { block.appendInterleaved(to: &bytes) }

    func stretch() throws -> ReadBack.Stretch {
        guard let format = shape.format.stored else {
            throw SupportError("read back", "\(shape.format) has no PCM format here")
        }
        let pcm = PCM(rate: shape.sampleRateHz, channels: shape.channelCount, format: format, bytes: bytes)
        return ReadBack.Stretch(pcm: pcm, position: position)
    }
}
