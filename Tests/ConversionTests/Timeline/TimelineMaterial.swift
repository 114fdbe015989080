import Conversion

/// Recipes with a timeline, for tests.
enum TimelineMaterial {
    /// Uses every field of version 2, and is valid.
    static let whole = """
        {"version":2,"sources":[{"location":"in:voice.wav","name":"voice"},{"location":"in:music.flac","name":"music",\
        "track":1}],"outputs":[{"location":"out:show.mp3","preset":"mp3-v0"}],"timeline":{"sampleRateHz":48000,\
        "layout":"stereo","padTo":"2:00","limit":"-1dB","tracks":[{"gain":"-1.5dB","pan":-0.25,"start":"0:03",\
        "ramps":[{"from":"0:01","to":"0:02","fromGain":"0dB","toGain":"-6dB"},{"from":"0:02","to":"0:04",\
        "fromGain":"-6dB","toGain":"0dB","curve":"decibel"}],"pieces":[{"source":"voice","from":"0:10","to":"0:30",\
        "channels":"left","fadeIn":"0:02","fadeOut":{"length":"0:05","curve":"equalPower"},"gain":"+3dB","pan":1},\
        {"silence":"0:04"},{"source":"voice","from":"1/3","to":"0:05","channels":[2,1],"reverse":true,"repeat":3,\
        "crossfade":"0:01","ramps":[{"from":"0:00","to":"0:01","fromGain":"-inf","toGain":"0dB"}]},{"track":"bed",\
        "to":"0:20","crossfade":{"length":"0:02","curve":"linear"},"repeatUntil":"0:50"}]},{"name":"bed","pieces":\
        [{"source":"music","from":"0:30"}]}]}}
        """

    /// A recipe with one track of `pieces` of the sources a and b.
    static func recipe(_ pieces: [Piece]) -> Recipe { recipe(tracks: [Timeline.Track(pieces: pieces)]) }

    static func recipe(tracks: [Timeline.Track]) -> Recipe {
        let timeline = Timeline(tracks: tracks)
        return Recipe(
            sources: timeline.namesOfUsedSources.sorted().map { Recipe.Source(location: "in:\($0).wav", name: $0) },
            outputs: [Recipe.Output(location: "out:mix.wav")],
            timeline: timeline
        )
    }

    static func seconds(_ count: Int64) -> MediaTime { MediaTime(value: count, timescale: 1) }

    static func range(_ start: Int64, _ end: Int64) throws -> MediaTimeRange {
        try MediaTimeRange(start: seconds(start), end: seconds(end))
    }
}

// MARK: - Random timelines

extension SeededGenerator {
    mutating func pick<Value>(_ values: [Value]) -> Value { values[Int(below(UInt64(values.count)))] }

    mutating func maybe<Value>(_ value: (inout SeededGenerator) -> Value) -> Value? {
        onceIn(3) ? value(&self) : nil
    }

    /// A text for names, short and long, with what JSON escapes.
    mutating func name() -> String { pick(["a", "b", "voice", "naïve 音", "\"\\\n", "", "a~1"]) }

    mutating func gain() -> Gain {
        Gain(decibels: pick([0, -3, 2.5, -144, 60, -0.1, 1e-7, -.infinity, 1.0 / 3])) ?? .unity
    }

    mutating func pan() -> Pan { Pan(pick([0, -1, 1, 0.5, -1.0 / 3, 1e-9])) ?? .centre }

    mutating func anyRange() -> MediaTimeRange {
        let (first, second) = (number(), onceIn(4) ? .positiveInfinity : number())
        // `try?`: the ends are numbers or infinite, so that only their order can be wrong.
        return (try? MediaTimeRange(start: min(first, second), end: max(first, second))) ?? .whole
    }

    mutating func ramp() -> Ramp { Ramp(anyRange(), from: gain(), to: gain(), curve: pick(Curve.allCases)) }

    mutating func fade() -> Fade { Fade(time(), curve: pick(Curve.allCases)) }

    mutating func material() -> Piece.Material {
        switch below(3) {
        case 0: .source(name(), anyRange())
        case 1: .silence(time())
        default: .track(name(), onceIn(2) ? .whole : anyRange())
        }
    }

    mutating func piece() -> Piece {
        Piece(
            material(),
            channels: maybe { $0.pick([.left, .right, .swap, .sum, .numbers([3, 4]), .numbers([1])]) },
            isReversed: onceIn(3),
            repeats: maybe { $0.onceIn(2) ? .times(Int($0.integer())) : .until($0.time()) },
            gain: onceIn(2) ? .unity : gain(),
            pan: onceIn(2) ? .centre : pan(),
            ramps: (0..<below(3)).map { _ in ramp() },
            fadeIn: maybe { $0.fade() },
            fadeOut: maybe { $0.fade() },
            crossfade: maybe { $0.fade() }
        )
    }

    /// Any timeline, valid or not.
    mutating func timeline() -> Timeline {
        Timeline(
            sampleRateHz: maybe { $0.pick([1, 48_000, 16_777_216, .max]) },
            layout: maybe { $0.pick([.mono, .stereo, .fivePointOne, .discrete(3), .discrete(65)]) },
            tracks: (0..<below(4)).map { _ in
                Timeline.Track(
                    name: maybe { $0.name() },
                    start: onceIn(2) ? .zero : time(),
                    gain: onceIn(2) ? .unity : gain(),
                    pan: onceIn(2) ? .centre : pan(),
                    ramps: (0..<below(3)).map { _ in ramp() },
                    pieces: (0..<below(5)).map { _ in piece() }
                )
            },
            padTo: maybe { $0.time() },
            limit: maybe { $0.gain() }
        )
    }
}
