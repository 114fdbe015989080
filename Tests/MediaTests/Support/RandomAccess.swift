import Conversion
import TestSupport

@testable import Media

/// A source that is open for random access.
final class RandomAccess {
    let reader: SampleReader
    private let file: OpenFile
    private let opened: Reader

    init(_ path: String, _ options: Reader.Options = .init()) throws {
        file = try OpenFile.reading(path)
        var options = options
        options.nameHint = path
        opened = try Reader(descriptor: file.descriptor, options: options)
        reader = try opened.sampleReader(of: opened.track())
    }

    /// Bytes that libav has read of the source.
    var readBytes: Int64 { opened.demuxer.source.readBytes }

    /// The frames of `range`.
    func pcm(_ range: Range<Int>) throws -> PCM {
        try PCM(reader.block(Int64(range.lowerBound)..<Int64(range.upperBound)))
    }
}

extension PCM {
    /// The samples of a block.
    init(_ block: PCMBlock) throws {
        guard let format = block.shape.format.stored, !block.shape.format.isPlanar else {
            throw SupportError("PCM of a block", "\(block.shape.format) has no PCM format here")
        }
        self.init(
            rate: block.shape.sampleRateHz,
            channels: block.shape.channelCount,
            format: format,
            bytes: block.bytes
        )
    }

    /// Everything that `output` delivers, which must have one shape. Checks its counts and positions.
    static func all(of output: some SampleOutput) throws -> PCM {
        var gathered = BlockGatherer(frames: .max)
        var block = try SampleBlock()
        while try output.next(into: &block) {
            guard gathered.take(block, from: 0, clockRate: output.clockRateHz) == block.frameCount else {
                throw SupportError("read an output", "the block at \(block.position) does not follow")
            }
        }
        guard output.deliveredFrames == Int64(gathered.frameCount) else {
            throw SupportError("read an output", "\(output.deliveredFrames) frames were counted")
        }
        return try PCM(gathered.finished() ?? PCMBlock([Int16](), sampleRateHz: output.clockRateHz, channelCount: 1))
    }

    /// How `self` differs from `wanted`, in words; `nil` if it is equal or, if `floor` is given, close enough.
    func difference(from wanted: PCM, floor: Double?) throws -> String? {
        guard frames == wanted.frames else { return "\(frames) frames instead of \(wanted.frames)" }
        if self == wanted { return nil }
        let ratio = try snr(against: wanted).min() ?? 0
        if let floor, ratio > floor { return nil }
        let first = zip(bytes, wanted.bytes).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? 0
        return "differs from frame \(first / max(1, bytesPerFrame)) on, at \(ratio) dB"
    }
}
