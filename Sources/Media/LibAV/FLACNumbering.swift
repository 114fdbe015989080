/// What the numbers in a FLAC stream's frame headers count, and where each frame begins by them.
///
/// A bit of the header says whether frames or samples are counted. Encoders older than that bit count samples and leave
/// it clear, and some with blocks of changing sizes count frames: libav 5.1 takes both for the number of a whole block.
struct FLACNumbering {
    /// Whether libav reckons with blocks of one size where there are none: its times mean nothing then.
    private(set) var misleadsLibAV = false
    /// Frames of sound in all blocks but the last; `nil` where the head of the stream names several sizes.
    private let blockFrames: Int?
    private var countsSamples: Bool?
    private var last: (header: FLACFrameHeader, start: Int64)?

    init(blockFrames: Int?) { self.blockFrames = blockFrames }

    /// The first frame of sound in the block of `header`. Say the headers in order.
    mutating func start(of header: FLACFrameHeader) -> Int64 {
        settle(by: header)
        let start = place(of: header)
        last = (header, start)
        return start
    }

    /// Whether the block of `header` was given already, by one that began at `earlier` and held so many blocks and frames.
    func isRepeated(_ header: FLACFrameHeader, behind earlier: FLACFrameHeader, blocks: Int64, frames: Int64) -> Bool {
        guard earlier.numbersSamples == header.numbersSamples, header.number >= earlier.number else { return false }
        return header.number < earlier.number + (isCountingSamples(header) ? frames : blocks)
    }

    /// Only two blocks, one behind the other, show what old streams count.
    private mutating func settle(by header: FLACFrameHeader) {
        guard let last, !header.numbersSamples else { return }
        let (isNextFrame, isNextSample) = (
            header.number == last.header.number + 1, header.number == last.header.number + Int64(last.header.frames)
        )
        // Behind a block of a single frame it is the same.
        if isNextFrame != isNextSample { countsSamples = countsSamples ?? isNextSample }
        let isOfAnotherSize = blockFrames != last.header.frames
        if isCountingSamples(header) || isOfAnotherSize { misleadsLibAV = true }
    }

    private func isCountingSamples(_ header: FLACFrameHeader) -> Bool {
        // As the reference decoder has it: a stream that names several sizes counts samples.
        header.numbersSamples || countsSamples ?? (blockFrames == nil)
    }

    private func place(of header: FLACFrameHeader) -> Int64 {
        if isCountingSamples(header) { return header.number }
        guard let last, !last.header.numbersSamples, header.number > last.header.number else {
            return header.number * Int64(blockFrames ?? header.frames)
        }
        // The blocks between two known ones are assumed to have the size of the first.
        return last.start + (header.number - last.header.number) * Int64(last.header.frames)
    }
}
