import Conversion

/// The windows of EBU R 128 over a sequence of energies: 400 ms and three seconds, and what follows from them.
struct LoudnessWindows {
    /// Steps in which the maxima are sought, and blocks of which the gates are made, per second.
    static let stepsPerSecond = 100
    static let blocksPerSecond = 10

    private var steps = [Double](repeating: 0, count: 3 * stepsPerSecond)
    private var stepCount = 0
    private var blocks = [Double](repeating: 0, count: 3 * blocksPerSecond)
    private var blockCount = 0
    /// The mean energy of the last 400 ms.
    private(set) var momentaryEnergy = 0.0
    private var momentaryMax = 0.0
    private var shortTermMax = 0.0
    private var momentary = LoudnessHistogram()
    private var shortTerm = LoudnessHistogram()
    /// Whether an energy was not a number: then there is no level.
    private(set) var isBroken = false

    /// Adds the mean energy of the next 10 ms. The maxima count windows that begin before the sound as partly silent.
    mutating func add(step energy: Double) {
        steps[stepCount % steps.count] = energy
        stepCount += 1
        momentaryEnergy = mean(of: 40)
        momentaryMax = max(momentaryMax, momentaryEnergy)
        shortTermMax = max(shortTermMax, mean(of: steps.count))
    }

    /// Adds the mean energy of the next 100 ms. The gates count whole windows only.
    mutating func add(block energy: Double) {
        guard energy.isFinite else { return isBroken = true }
        blocks[blockCount % blocks.count] = energy
        blockCount += 1
        if blockCount >= 4 { momentary.add((1...4).reduce(0) { $0 + block(back: $1) } / 4) }
        if blockCount >= blocks.count { shortTerm.add(blocks.reduce(0, +) / Double(blocks.count)) }
    }

    /// In LUFS; `nil` if nothing passes the absolute gate.
    var integrated: Double? { momentary.mean(within: 10).map(LoudnessScale.lufs) }

    func album(truePeakDBTP: Double?) -> AlbumMeasure {
        var album = momentary.album
        album.truePeakDBTP = truePeakDBTP.map { min($0, AlbumMeasure.highestPeakDBTP) }
        return album
    }

    /// In LU, between the 10th and the 95th percentile of the short-term loudness (EBU Tech 3342).
    var range: Double? { shortTerm.distance(from: 0.1, to: 0.95, within: 20) }

    /// In LUFS; minus infinity for silence.
    var loudestMomentary: Double { LoudnessScale.lufs(momentaryMax) }
    var loudestShortTerm: Double { LoudnessScale.lufs(shortTermMax) }

    private func block(back distance: Int) -> Double { blocks[(blockCount - distance) % blocks.count] }

    /// The mean of the last `count` steps.
    private func mean(of count: Int) -> Double {
        var sum = 0.0
        var place = (stepCount - 1) % steps.count
        var left = count
        while left > 0 {
            sum += steps[place]
            place = place == 0 ? steps.count - 1 : place - 1
            left -= 1
        }
        return sum / Double(count)
    }
}
