/// Determines what the numbers in a FLAC stream's frame headers count, and the position of each frame from them.
///
/// A header bit says whether the number counts frames or samples. Encoders older than that bit count
/// samples and leave it clear, and some encoders with varying block sizes count frames. libav 5.1 takes
/// both for the number of a fixed-size block.
struct FLACNumbering {
    /// Whether libav assumes a fixed block size that the stream does not have; its timestamps are then meaningless.
    private(set) var misleadsLibAV = false
    /// The number of samples per channel in every block but the last; `nil` if the stream header states several sizes.
    private let blockFrames: Int?
    private var countsSamples: Bool?
    private var last: (header: FLACFrameHeader, start: Int64)?

    init(blockFrames: Int?) { self.blockFrames = blockFrames }

    /// The position of the first sample in the block of `header`. Call it for the headers in stream order.
    mutating func start(of header: FLACFrameHeader) -> Int64 {
        settle(by: header)
        let start = place(of: header)
        last = (header, start)
        return start
    }

    /// Whether the block of `header` repeats one that was already delivered.
    ///
    /// The packet that began with the header `earlier` held `blocks` blocks and `frames` frames in all. libav repeats only
    /// what it has put into one packet with other blocks. A single block with the same number is another one.
    func isRepeated(_ header: FLACFrameHeader, behind earlier: FLACFrameHeader, blocks: Int64, frames: Int64) -> Bool {
        guard blocks > 1, earlier.numbersSamples == header.numbersSamples, header.number >= earlier.number else {
            return false
        }
        return header.number < earlier.number + (isCountingSamples(header) ? frames : blocks)
    }

    /// Old streams reveal what they count only in two consecutive blocks.
    private mutating func settle(by header: FLACFrameHeader) {
        guard let last, !header.numbersSamples else { return }
        let (isNextFrame, isNextSample) = (
            header.number == last.header.number + 1, header.number == last.header.number + Int64(last.header.frames)
        )
        // After a block of a single sample, both counts agree.
        if isNextFrame != isNextSample { countsSamples = countsSamples ?? isNextSample }
        let isOfAnotherSize = blockFrames != last.header.frames
        if isCountingSamples(header) || isOfAnotherSize { misleadsLibAV = true }
    }

    private func isCountingSamples(_ header: FLACFrameHeader) -> Bool {
        // As in the reference decoder: a stream that states several block sizes counts samples.
        header.numbersSamples || countsSamples ?? (blockFrames == nil)
    }

    private func place(of header: FLACFrameHeader) -> Int64 {
        if isCountingSamples(header) { return header.number }
        guard let last, !last.header.numbersSamples, header.number > last.header.number else {
            return header.number * Int64(blockFrames ?? header.frames)
        }
        // Assume that the blocks between two known ones have the size of the first.
        return last.start + (header.number - last.header.number) * Int64(last.header.frames)
    }
}
