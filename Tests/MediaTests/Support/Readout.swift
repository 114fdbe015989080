import Conversion
import TestSupport

@testable import Media

/// The result of reading some bytes, up to the end or to an error.
struct Readout: Sendable, CustomStringConvertible {
    /// The samples of the first channel, with full scale at 1.
    private(set) var samples: [Float] = []
    private(set) var blocks = 0
    private(set) var length = LengthPromise.none
    private(set) var account = DamageAccount()
    private(set) var error: MediaError?
    private(set) var rate = 0
    /// Whether all blocks had the track's rate: damaged headers may state others.
    private(set) var hasOneRate = true
    /// Whether the read was cut off at a limit: a damaged header can promise days.
    private(set) var isCutOff = false

    private static let greatestLength = 4_000_000

    var frames: Int { samples.count }
    var description: String {
        "\(frames) of \(length) frames, \(error?.description ?? "no error"), lost \(account.stretches.prefix(5))"
    }
    var promised: Int? { length.exactFrames.map { Int($0) } }

    /// Reads the main track of `bytes`, in a file called `name`. Throws only for failures other than `MediaError`.
    init(
        _ bytes: [UInt8],
        _ damage: DamageMode = .strict,
        name: String,
        ranges: [MediaTimeRange] = [],
        checksDigest: Bool = false
    ) throws {
        let folder = try TemporaryFolder.create()
        try Bytes.write(bytes, to: folder.path(name))
        let file = try OpenFile.reading(folder.path(name))
        do {
            try read(file.descriptor, .init(nameHint: name, damage: damage, checksDigest: checksDigest), ranges)
        } catch let error as MediaError {
            self.error = error
        }
    }

    private mutating func read(_ descriptor: Int32, _ options: Reader.Options, _ ranges: [MediaTimeRange]) throws {
        let reader = try Reader(descriptor: descriptor, options: options)
        let track = try reader.track()
        (length, rate) = (track.length, track.sampleRateHz)
        let output = try reader.samples(of: track, ranges: ranges)
        var block = try SampleBlock()
        do {
            while try output.next(into: &block) {
                blocks += 1
                append(block)
                if frames > Self.greatestLength {
                    isCutOff = true
                    return
                }
            }
        } catch {
            account = output.damage
            throw error
        }
        account = output.damage
        guard output.deliveredFrames == Int64(frames) else {
            throw SupportError("read", "\(output.deliveredFrames) frames were counted, \(frames) came")
        }
    }

    private mutating func append(_ block: borrowing SampleBlock) {
        guard let shape = block.shape else { return }
        hasOneRate = hasOneRate && shape.sampleRateHz == rate
        guard let format = shape.format.stored else { return }
        let (count, step) = (block.frameCount, shape.format.isPlanar ? 1 : shape.channelCount)
        block.withPlane(0) { format.appendSingles($0, stride: step, count: count, to: &samples) }
    }

    /// How well the sound in `range` fits that of `other` at the same place: 1 for the same sound, about 0 for
    /// noise that is shifted by one frame.
    func fit(_ other: Readout, in range: Range<Int>) -> Float {
        SampleMath.fit(samples, from: range.lowerBound, other.samples, in: range)
    }

    func isSilent(in range: Range<Int>) -> Bool {
        range.upperBound <= frames && SampleMath.isSilent(samples, in: range)
    }
}
