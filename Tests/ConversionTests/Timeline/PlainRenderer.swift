import Conversion

/// What is heard of a timeline in each second, as a list of words: a stand-in for samples, in which every effect shows.
///
/// Only whole seconds, and no cross-fades inside of other tracks' ranges that cut them: enough to compare timelines
/// before and after an edit.
struct PlainRenderer {
    let timeline: Timeline
    /// The length of each source in seconds.
    let sourceLengths: [String: Int]

    /// One word for each second of a track; silence is empty.
    func track(_ index: Int) -> [String] {
        let track = timeline.tracks[index]
        var heard = [String](repeating: "", count: Int(track.start.seconds))
        for (number, piece) in track.pieces.enumerated() {
            var sound = self.piece(piece)
            let overlap = number == 0 ? 0 : Int((piece.crossfade?.length ?? .zero).seconds)
            for second in 0..<overlap {
                let place = heard.count - overlap + second
                heard[place] = "\(heard[place])|x\(second + 1)/\(overlap)|\(sound[second])"
            }
            sound.removeFirst(overlap)
            heard += sound
        }
        return heard
    }

    private func piece(_ piece: Piece) -> [String] {
        var sound: [String]
        switch piece.material {
        case .silence(let length): sound = [String](repeating: "", count: Int(length.seconds))
        case .source(let name, let range):
            sound = part((0..<(sourceLengths[name] ?? 0)).map { "\(name)\($0)" }, range)
        case .track(let name, let range):
            let index = timeline.tracks.firstIndex { $0.name == name } ?? 0
            sound = part(track(index), range)
        }
        if let channels = piece.channels { sound = changed(sound, "c\(channels)") }
        if piece.isReversed { sound.reverse() }
        switch piece.repeats {
        case nil: break
        case .times(let count): sound = Array([[String]](repeating: sound, count: count).joined())
        case .until(let end):
            let once = sound
            sound = (0..<Int(end.seconds)).map { once[$0 % once.count] }
        }
        if piece.gain != .unity { sound = changed(sound, "\(piece.gain)") }
        for ramp in piece.ramps {
            let (start, end) = (Int(ramp.range.start.seconds), Int(ramp.range.end.seconds))
            for second in sound.indices where second >= start && !sound[second].isEmpty {
                sound[second] += "r\(min(second, end) - start)/\(end - start)"
            }
        }
        if piece.pan != .centre { sound = changed(sound, "p\(piece.pan.position)") }
        for second in sound.indices where !sound[second].isEmpty {
            if let fade = piece.fadeIn.map({ Int($0.length.seconds) }), second < fade {
                sound[second] += "i\(second)/\(fade)"
            }
            if let fade = piece.fadeOut.map({ Int($0.length.seconds) }), sound.count - second <= fade {
                sound[second] += "o\(sound.count - second)/\(fade)"
            }
        }
        return sound
    }

    private func part(_ sound: [String], _ range: MediaTimeRange) -> [String] {
        let end = range.isOpenEnded ? sound.count : Int(range.end.seconds)
        return Array(sound[Int(range.start.seconds)..<end])
    }

    /// An effect on silence is silence.
    private func changed(_ sound: [String], _ effect: String) -> [String] {
        sound.map { $0.isEmpty ? "" : $0 + effect }
    }
}
