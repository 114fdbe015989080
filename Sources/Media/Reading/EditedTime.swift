/// The time line of a track whose container plays parts of its packets in any order, with silence between them.
///
/// Positions, ranges and the length of such a track count on this time line. Reading counts the frames of all packets,
/// from the first frame of the first packet.
struct EditedTime: Sendable, Hashable {
    struct Piece: Sendable, Hashable {
        /// The first frame among those of all packets; `nil` for silence.
        let start: Int64?
        let frames: Int64
    }

    let pieces: [Piece]
    /// The frames of all packets.
    let source: LengthPromise
    /// The frames of the time line.
    let frames: Int64

    /// `nil` if the pieces together, or the source, last longer than any recording.
    init?(_ pieces: [Piece], of source: LengthPromise) {
        guard (0...Plausible.frames).contains(source.frames ?? 0) else { return nil }
        var frames: Int64 = 0
        for piece in pieces {
            guard piece.frames >= 0, (0...Plausible.frames).contains(piece.start ?? 0) else { return nil }
            frames = frames.addingSaturated(piece.frames)
            guard frames <= Plausible.frames else { return nil }
        }
        self.pieces = pieces.filter { $0.frames > 0 }
        self.source = source
        self.frames = frames
    }

    /// What must be read for a range of the time line.
    struct Part: Hashable {
        /// Frames of the source; of silence, frames that count from zero.
        var range: Range<Int64>
        var isSilent = false
        /// How much later the part lies on the time line than in the source.
        var shift: Int64 = 0
    }

    func parts(of range: Range<Int64>) -> [Part] {
        var parts: [Part] = []
        var place: Int64 = 0
        for piece in pieces {
            let (first, last) = (max(place, range.lowerBound), min(place + piece.frames, range.upperBound))
            if first < last {
                let start = piece.start.map { $0 + first - place }
                let length = last - first
                parts.append(
                    Part(
                        range: (start ?? 0)..<((start ?? 0) + length),
                        isSilent: start == nil,
                        shift: first - (start ?? 0)
                    )
                )
            }
            place += piece.frames
        }
        return parts
    }
}
