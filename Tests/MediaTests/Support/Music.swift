import TestSupport

/// Sound that is as hard to encode as music.
enum Music {
    /// One minute of the repeated melody.
    static func minute(rate: Int, channels: Int) throws -> PCM {
        let melody = Signal.melody(rate: rate)
        let tune = channels == 1 ? Signal(rate: rate, channels: [melody.channels[0]]).pcm(.s16) : melody.pcm(.s16)
        let wanted = 60 * rate
        let times = (wanted + tune.frames - 1) / tune.frames
        return try PCM.joined([PCM](repeating: tune, count: times)).cut(0..<wanted)
    }
}
