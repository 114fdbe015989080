import Console
import Conversion

/// Pieces and tracks of a timeline in words.
enum PieceWords {
    /// The name of a track, or its number from 1.
    static func title(of track: Timeline.Track, _ index: Int) -> String { track.name ?? "\(index + 1)" }

    /// `?` if it is not known.
    static func time(_ time: MediaTime?) -> String { time.map { "\($0)" } ?? "?" }

    /// `voice 0:10 to 0:30`, `voice from 0:10`, `silence`, `track bed`
    static func material(of piece: Piece) -> String {
        switch piece.material {
        case .source(let name, let range): name + words(for: range)
        case .track(let name, let range): "track \(name)" + words(for: range)
        case .silence: "silence"
        }
    }

    private static func words(for range: MediaTimeRange) -> String {
        if !range.isOpenEnded { return " \(range.start) to \(range.end)" }
        return range.start == .zero ? "" : " from \(range.start)"
    }

    /// Each change in a few words, in the order in which they are made.
    static func changes(of piece: Piece) -> [String] {
        var words: [String] = []
        if let channels = piece.channels {
            if case .numbers = channels { words.append("channels \(channels)") } else { words.append("\(channels)") }
        }
        if let trim = piece.trimSilence { words.append("without silence \(trim)") }
        if piece.isReversed { words.append("reversed") }
        switch piece.repeats {
        case .times(let count): words.append("\(count) times")
        case .until(let end): words.append("repeated for \(end)")
        case nil: break
        }
        words += changes(gain: piece.gain, piece.ramps, piece.pan)
        if let fade = piece.fadeIn { words.append("fade in \(self.fade(fade, usually: .linear))") }
        if let fade = piece.fadeOut { words.append("fade out \(self.fade(fade, usually: .linear))") }
        if let fade = piece.crossfade { words.append("cross-fade \(self.fade(fade, usually: .equalPower))") }
        return words
    }

    static func changes(of track: Timeline.Track) -> [String] { changes(gain: track.gain, track.ramps, track.pan) }

    private static func changes(gain: Gain, _ ramps: [Ramp], _ pan: Pan) -> [String] {
        var words: [String] = []
        if gain != .unity { words.append("\(gain)") }
        words += ramps.map { ramp in
            "ramp \(ramp.range.start) to \(ramp.range.end) \(ramp.from) to \(ramp.to)"
                + (ramp.curve == .linear ? "" : " (\(ramp.curve.rawValue))")
        }
        if pan != .centre { words.append("pan \(pan.position)") }
        return words
    }

    private static func fade(_ fade: Fade, usually curve: Curve) -> String {
        "\(fade.length)" + (fade.curve == curve ? "" : " (\(fade.curve.rawValue))")
    }

    /// The name and the most important changes, for the inside of a bar: `voice ◀×3 +3dB`.
    static func label(of piece: Piece, usesUnicode: Bool) -> String {
        var label: String
        switch piece.material {
        case .source(let name, _), .track(let name, _): label = name.printable
        case .silence: label = "silence"
        }
        var marks = piece.isReversed ? (usesUnicode ? "◀" : "<") : ""
        let times = usesUnicode ? "×" : "x"
        switch piece.repeats {
        case .times(let count): marks += "\(times)\(count)"
        case .until: marks += times + (usesUnicode ? "…" : "..")
        case nil: break
        }
        if !marks.isEmpty { label += " \(marks)" }
        if piece.gain != .unity { label += " \(piece.gain)" }
        return label
    }
}
