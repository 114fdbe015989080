import Conversion

/// What a pump carries samples to.
protocol SampleReceiver: AnyObject {
    /// The bytes of the output under way that have left its buffer.
    var writtenBytes: Int64 { get }

    /// Takes the samples of `block` and changes nothing in it; the caller keeps its memory.
    func append(_ block: inout SampleBlock) throws
}

extension WriterInput: SampleReceiver {}

/// Cuts the samples of a source into pieces that follow each other. Each piece has a writer, from its first frame to its
/// last: so one encoder is open at a time, however many pieces there are.
final class PieceCutter: SampleReceiver {
    /// The pieces in frames of the source. The end `Int64.max` stands for the end of the source.
    private let pieces: [Range<Int64>]
    private let ranges: [MediaTimeRange]
    private let track: Track
    private let open: (_ index: Int) throws -> Writer
    /// The piece that is written, or that comes next.
    private var index = 0
    /// How far the source has been read.
    private var reached: Int64
    private var writer: Writer?
    private var input: WriterInput?
    private var slice: SampleBlock
    private var summaries: [Writer.Summary] = []

    /// `ranges` are in order and do not overlap. Samples come from the start of the first one on. `open` makes the writer
    /// of a piece.
    ///
    /// Throws if the source, as far as its length is known, does not have a range.
    init(_ ranges: [MediaTimeRange], of track: Track, open: @escaping (_ index: Int) throws -> Writer) throws {
        let rate = track.sampleRateHz
        pieces = ranges.map { range in
            let start = range.start.frames(atRate: rate)?.frames ?? .max
            return start..<max(start, range.isOpenEnded ? .max : range.end.frames(atRate: rate)?.frames ?? .max)
        }
        (self.ranges, self.track, self.open) = (ranges, track, open)
        reached = pieces[0].lowerBound
        slice = try SampleBlock()
        let end = track.length.exactFrames
        for (index, piece) in pieces.enumerated() {
            if piece.isEmpty { throw refusal(of: index, "holds no frame", at: .open, end) }
            guard let end, piece.lowerBound >= end || (piece.upperBound > end && piece.upperBound != .max) else {
                continue
            }
            throw refusal(of: index, "is not within the source", at: .open, end)
        }
    }

    private func refusal(of index: Int, _ why: String, at stage: Failure.Stage, _ end: Int64?) -> MediaError {
        var error = MediaError(
            .rangeOutsideSource,
            at: stage,
            "the range \(ranges[index]) \(why)",
            stream: track.index,
            hint: end.map { "the source ends at \(MediaTime(frames: $0, rate: track.sampleRateHz))" }
        )
        if pieces.count > 1 { error.output = index + 1 }
        return error
    }

    var writtenBytes: Int64 { input?.writtenBytes ?? 0 }

    func append(_ block: inout SampleBlock) throws {
        guard block.frameCount > 0 else { return }
        if let rate = block.shape?.sampleRateHz, rate != track.sampleRateHz {
            throw MediaError(
                .formatRefused,
                at: .decode,
                "the source changes its sample rate from \(track.sampleRateHz) to \(rate) Hz",
                hint: "convert it to one rate first, then cut it"
            )
        }
        let place = reached..<reached + Int64(block.frameCount)
        reached = place.upperBound
        while index < pieces.count, pieces[index].lowerBound < place.upperBound {
            try MediaError.ofOutput(index, of: pieces.count) { try append(&block, at: place) }
            guard pieces[index].upperBound <= place.upperBound else { return }
            try finishPiece()
        }
    }

    /// Hands on the part of `block` that belongs to the present piece.
    private func append(_ block: inout SampleBlock, at place: Range<Int64>) throws {
        let front = max(0, pieces[index].lowerBound - place.lowerBound)
        let back = max(0, place.upperBound - pieces[index].upperBound)
        if input == nil {
            let next = try open(index)
            (writer, input) = (next, try next.samples())
        }
        guard front > 0 || back > 0 else { return try input!.append(&block) }
        try slice.share(block)
        // The block's memory is reused only while nothing shares it.
        defer { slice.clear() }
        slice.trim(front: Int(front), back: Int(back))
        try input!.append(&slice)
    }

    private func finishPiece() throws {
        try MediaError.ofOutput(index, of: pieces.count) { summaries.append(try writer!.finish()) }
        (writer, input) = (nil, nil)
        index += 1
    }

    /// Finishes the last piece at the end of the source. Throws if the source ends before the last piece does.
    func finish() throws -> [Writer.Summary] {
        if index == pieces.count - 1, pieces[index].upperBound == .max, input != nil { try finishPiece() }
        guard index == pieces.count else { throw refusal(of: index, "is not within the source", at: .decode, reached) }
        return summaries
    }
}
