import Conversion

/// Finds the ending of a sound: the place from which all tenths of a second stay well below the level of the whole.
///
/// The level is that of all tenths that are not silent. It is one of samples, without the weights of a loudness.
struct EndingFinder {
    private let window: Int64
    private let silence: Double
    /// The energy of the tenth that is not complete, and where it began.
    private var energy = 0.0
    private var values = 0
    private var start: Int64 = 0
    /// Of the tenths that are not silent.
    private var total = 0.0
    private var count = 0
    /// Where the last tenth with a level in each tenth of a decibel ended.
    private var last = [Int64](repeating: -1, count: Self.bins)

    private static let bins = 2_000
    private static let highestDB = 40.0
    private static let binsPerDB = 10.0

    /// `silence` is the amplitude up to which a tenth counts as silent.
    init(rate: Int, silence: Double) {
        window = Int64(max(1, rate / 10))
        self.silence = silence * silence
    }

    mutating func add(_ channels: [[Double]], _ clock: BlockClock) {
        guard let length = channels.first?.count else { return }
        var index = 0
        while index < length {
            let wanted = start + window - clock.frame(index)
            let taken = clock.blockRate == clock.rate ? Int(max(1, min(Int64(length - index), wanted))) : 1
            for samples in channels {
                for place in index..<index + taken where samples[place].isFinite {
                    energy += samples[place] * samples[place]
                }
            }
            values += taken * channels.count
            index += taken
            if clock.frame(index) >= start + window { close(at: clock.frame(index)) }
        }
    }

    /// Leaves out what lies between the end of the samples so far and `place`.
    mutating func pass(from end: Int64, to place: Int64) {
        close(at: end)
        start = max(start, place)
    }

    private mutating func close(at end: Int64) {
        defer { (energy, values, start) = (0, 0, end) }
        guard values > 0 else { return }
        let mean = energy / Double(values)
        guard mean > silence else { return }
        total += mean
        count += 1
        last[Self.bin(LoudnessScale.decibels(mean) / 2)] = end
    }

    private static func bin(_ decibels: Double) -> Int {
        let place = (highestDB - decibels) * binsPerDB
        return place.isFinite ? min(max(0, Int(min(max(0, place), 1e6))), bins - 1) : bins - 1
    }

    /// Where the ending begins, if the sound stays `drop` decibels below its level from there on; the end of the last
    /// tenth, if it never does. `nil` without sound.
    mutating func place(drop: Double, end: Int64) -> Int64? {
        close(at: end)
        guard count > 0 else { return nil }
        let level = LoudnessScale.decibels(total / Double(count)) / 2 - drop
        return last[...Self.bin(level)].max().flatMap { $0 < 0 ? nil : $0 }
    }
}
