import Conversion

/// Brings the samples of one output to the clock of a mix, and hands out as many frames at a time as the mix wants.
final class ClockedSound {
    private let output: any SampleOutput
    private var converter: FormatConverter
    private var queue: SampleQueue
    private var taken: SampleBlock
    private var isDrained = false
    private let clock: SampleShape
    private var layout: ChannelLayout?
    /// Called with each layout that is mixed to the clock's.
    private let note: (ChannelMix) -> Void

    init(
        _ output: any SampleOutput,
        clock: SampleShape,
        precision: Resampler.Precision,
        note: @escaping (ChannelMix) -> Void = { _ in }
    ) throws {
        self.output = output
        self.clock = clock
        self.note = note
        converter = try FormatConverter(to: clock, precision: precision)
        queue = try SampleQueue.open(clock, capacity: 8192)
        taken = try SampleBlock()
    }

    /// Moves the next `count` frames into `block`. Returns how many there were: fewer only at the end of the sound.
    func read(_ count: Int, into block: inout SampleBlock) throws -> Int {
        try fill(count)
        let found = min(count, queue.count)
        if found > 0 { try queue.remove(found, into: &block) }
        return found
    }

    /// Drops the next `count` frames. Returns how many there were.
    func skip(_ count: Int64, using block: inout SampleBlock) throws -> Int64 {
        var left = count
        while left > 0 {
            let found = try read(Int(min(left, 4096)), into: &block)
            if found == 0 { break }
            left -= Int64(found)
        }
        return count - left
    }

    /// Whether no frame is left.
    func isAtEnd() throws -> Bool {
        try fill(1)
        return queue.count == 0
    }

    private func changed(to rate: Int) -> MediaError {
        MediaError(
            .formatRefused,
            at: .decode,
            "the source changes its sample rate from \(output.clockRateHz) to \(rate) Hz",
            hint: "convert it to one rate first, then edit it"
        )
    }

    /// A source may change its channels in the middle.
    private func noteLayout(of block: borrowing SampleBlock) {
        guard let shape = block.shape, shape.layout != layout else { return }
        layout = shape.layout
        if let mix = ChannelMix(from: shape.layout, to: clock.layout) { note(mix) }
    }

    private func fill(_ count: Int) throws {
        while queue.count < count, !isDrained {
            if try output.next(into: &taken) {
                if let rate = taken.shape?.sampleRateHz, rate != output.clockRateHz { throw changed(to: rate) }
                noteLayout(of: taken)
                try converter.convert(&taken) { try queue.append($0) }
            } else {
                try converter.drain { try queue.append($0) }
                isDrained = true
            }
        }
    }
}
