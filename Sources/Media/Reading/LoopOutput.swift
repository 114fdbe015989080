import Conversion

/// A range of a track, repeated without a gap.
///
/// Every repetition delivers the same samples. A short range is decoded once and repeated from memory.
public final class LoopOutput: SampleOutput {
    private let reader: SampleReader
    /// The frames that are repeated.
    public let range: Range<Int64>
    /// Frames of all repetitions together, cut at the length that was asked for.
    private let total: Int64
    private var clock: PlainClock
    /// Frames delivered on the clock of the track.
    private var done: Int64 = 0
    private var lap: Lap = .between
    private var store = SampleStore()
    /// Whether the samples of this repetition are kept for the others.
    private var storesLap = false
    private var fitsStore = true
    private let storeBytes: Int

    private enum Lap { case between, reading, repeating }

    /// The longest range that is kept in memory, in bytes.
    static let storeBytes = 4 << 20

    /// Repeats `range`, or the whole track, `times` times.
    public convenience init(_ reader: SampleReader, _ range: Range<Int64>? = nil, times: Int) throws {
        let range = try range ?? 0..<reader.frames
        let (total, overflow) = Int64(range.count).multipliedReportingOverflow(by: Int64(max(0, times)))
        try self.init(reader, range, frames: overflow ? .max : total)
    }

    /// Repeats `range`, or the whole track, until `frames` frames were delivered. The last repetition may be cut.
    public convenience init(_ reader: SampleReader, _ range: Range<Int64>? = nil, frames: Int64) throws {
        try self.init(reader, range, frames: frames, storeBytes: Self.storeBytes)
    }

    init(_ reader: SampleReader, _ range: Range<Int64>?, frames: Int64, storeBytes: Int) throws {
        let range = try reader.checked(range)
        guard !range.isEmpty || frames <= 0 else {
            throw MediaError(
                .rangeOutsideSource,
                at: .decode,
                "no frames to repeat",
                stream: reader.track.index,
                position: MediaTime(frames: range.lowerBound, rate: reader.track.sampleRateHz),
                frame: range.lowerBound
            )
        }
        self.reader = reader
        self.range = range
        self.storeBytes = storeBytes
        total = max(0, frames)
        clock = PlainClock(rate: reader.track.sampleRateHz)
    }

    public var clockRateHz: Int { reader.track.sampleRateHz }
    public private(set) var deliveredFrames: Int64 = 0

    /// Exactly the frames that will be delivered, on the clock of the track; `nil` if damage is skipped within the range.
    public var promisedFrames: Int64? { reader.lacksFrames(in: range) ? nil : total }

    /// Fills `block` with the next samples; `false` once all repetitions are done. Positions count from the start of
    /// the first repetition.
    public func next(into block: inout SampleBlock) throws -> Bool {
        while true {
            switch lap {
            case .between:
                guard done < total else { return false }
                let length = min(Int64(range.count), total - done)
                done += length
                if store.isComplete {
                    store.rewind(upTo: length)
                    lap = .repeating
                    continue
                }
                store.clear()
                storesLap = fitsStore && length == Int64(range.count) && done < total
                lap = .reading
                try reader.seek(to: range.lowerBound..<range.lowerBound + length)
            case .reading:
                guard try reader.next(into: &block) else {
                    if storesLap { store.complete() }
                    lap = .between
                    continue
                }
                if storesLap {
                    storesLap = try store.append(block, atMost: storeBytes)
                    if !storesLap {
                        fitsStore = false
                        store = SampleStore()
                    }
                }
                clock.count(&block)
                deliveredFrames += Int64(block.frameCount)
                return true
            case .repeating:
                guard try store.next(into: &block) else {
                    lap = .between
                    continue
                }
                clock.count(&block)
                deliveredFrames += Int64(block.frameCount)
                return true
            }
        }
    }
}
