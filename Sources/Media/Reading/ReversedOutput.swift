import Conversion

/// A range of a track from its last frame to its first.
///
/// The range is decoded in chunks from the end, each of which begins a little earlier, so that the decoder's state has
/// settled. Memory does not depend on the length.
public final class ReversedOutput: SampleOutput {
    private let reader: SampleReader
    /// The frames that are delivered in reverse.
    public let range: Range<Int64>
    /// The end of what has yet to be decoded.
    private var end: Int64
    private let chunkFrames: Int64
    private var clock: PlainClock
    private var store = SampleStore()
    private var scratch: SampleBlock

    /// The bytes of a chunk of four-byte samples.
    static let chunkBytes: Int64 = 4 << 20

    /// Reverses `range`, or the whole track.
    ///
    /// Throws `source_not_seekable` for a track that cannot be read from the middle exactly.
    public convenience init(_ reader: SampleReader, _ range: Range<Int64>? = nil) throws {
        let channels = Int64(max(1, reader.track.channelCount))
        try self.init(reader, range, chunkFrames: max(1 << 14, Self.chunkBytes / (4 * channels)))
    }

    init(_ reader: SampleReader, _ range: Range<Int64>?, chunkFrames: Int64) throws {
        let range = try reader.checked(range)
        if Int64(range.count) > chunkFrames { try reader.refuseUnlessSeekable() }
        self.reader = reader
        self.range = range
        end = range.upperBound
        self.chunkFrames = chunkFrames
        clock = PlainClock(rate: reader.track.sampleRateHz)
        scratch = try SampleBlock()
    }

    public var clockRateHz: Int { reader.track.sampleRateHz }
    public private(set) var deliveredFrames: Int64 = 0

    /// Exactly the frames that will be delivered, on the clock of the track; `nil` if damage is skipped within the range.
    public var promisedFrames: Int64? { reader.lacksFrames(in: range) ? nil : Int64(range.count) }

    /// Fills `block` with the next samples; `false` once all were delivered. Positions count from the start of the
    /// output.
    public func next(into block: inout SampleBlock) throws -> Bool {
        while try !store.nextReversed(into: &block) {
            guard end > range.lowerBound else { return false }
            let start = max(range.lowerBound, end - chunkFrames)
            if start > range.lowerBound { try reader.refuseUnlessSeekable() }
            store.clear()
            try reader.seek(to: start..<end)
            while try reader.next(into: &scratch) { try store.append(scratch) }
            store.complete()
            end = start
        }
        clock.count(&block)
        deliveredFrames += Int64(block.frameCount)
        return true
    }
}
