public import Conversion

/// Loudness values of any number of blocks in constant memory, for the gates of EBU R 128.
///
/// Each bin is 0.01 LU wide and keeps the sum of the energies in it, so the mean over whole bins is exact. Only where
/// a gate falls into a bin does the bin count as a whole.
struct LoudnessHistogram {
    /// The absolute gate: what is below does not count.
    static let gate = -70.0
    private static let binsPerLU = 100.0
    /// Up to 50 LUFS: floats may exceed full scale. Louder blocks count in the last bin, with their energy.
    private static let binCount = 12_000

    private var counts = [Int](repeating: 0, count: binCount)
    private var energies = [Double](repeating: 0, count: binCount)
    private var count = 0

    mutating func add(_ energy: Double) {
        let loudness = LoudnessScale.lufs(energy)
        guard loudness >= Self.gate else { return }
        let bin = Int(min((loudness - Self.gate) * Self.binsPerLU, Double(Self.binCount - 1)))
        counts[bin] += 1
        energies[bin] += energy
        count += 1
    }

    /// The same blocks in the larger steps of an album, without its peak.
    var album: AlbumMeasure {
        var album = AlbumMeasure()
        let width = Self.binCount / AlbumMeasure.stepCount
        for step in 0...AlbumMeasure.loudestStep {
            let isLast = step == AlbumMeasure.loudestStep
            let bins = (step * width)..<(isLast ? Self.binCount : (step + 1) * width)
            let blocks = counts[bins].reduce(0, +)
            guard blocks > 0 else { continue }
            album.steps.append(step)
            album.blocks.append(Int64(blocks))
            let energy = energies[bins].reduce(0, +)
            album.energies.append(isLast ? min(energy, Double(blocks) * AlbumMeasure.highestEnergy) : energy)
        }
        return album
    }

    /// The mean energy of the blocks that are at most `depth` LU below the mean of all; `nil` without blocks.
    func mean(within depth: Double) -> Double? {
        let bins = bins(within: depth)
        let kept = bins.reduce(0) { $0 + counts[$1] }
        return kept == 0 ? nil : bins.reduce(0) { $0 + energies[$1] } / Double(kept)
    }

    /// The distance in LU between the given percentiles of those blocks; `nil` without blocks.
    func distance(from low: Double, to high: Double, within depth: Double) -> Double? {
        let bins = bins(within: depth)
        let kept = bins.reduce(0) { $0 + counts[$1] }
        guard kept > 0 else { return nil }
        func level(_ share: Double) -> Double {
            var rank = Int(Double(kept - 1) * share + 0.5)
            for bin in bins {
                if rank < counts[bin] { return LoudnessScale.lufs(energies[bin] / Double(counts[bin])) }
                rank -= counts[bin]
            }
            return 0
        }
        return level(high) - level(low)
    }

    /// The bins with blocks that the relative gate keeps, in order.
    private func bins(within depth: Double) -> [Int] {
        guard count > 0 else { return [] }
        let threshold = LoudnessScale.lufs(energies.reduce(0, +) / Double(count)) - depth
        return counts.indices.filter { bin in
            counts[bin] > 0 && LoudnessScale.lufs(energies[bin] / Double(counts[bin])) >= threshold
        }
    }
}

extension AlbumMeasure {
    /// In LUFS; `nil` if no block reaches -70 LUFS. The relative gate keeps or leaves whole steps.
    public var integratedLUFS: Double? {
        func mean(_ kept: some Sequence<Int>) -> Double? {
            let blocks = kept.reduce(0.0) { $0 + Double(self.blocks[$1]) }
            return blocks > 0 ? kept.reduce(0.0) { $0 + energies[$1] } / blocks : nil
        }
        guard let all = mean(steps.indices) else { return nil }
        let threshold = LoudnessScale.lufs(all) - 10
        let kept = steps.indices.filter { LoudnessScale.lufs(energies[$0] / Double(blocks[$0])) >= threshold }
        return mean(kept).map(LoudnessScale.lufs)
    }

    /// The middle of the loudest step.
    fileprivate static let highestEnergy = LoudnessScale.energy(floorLUFS + (Double(loudestStep) + 0.5) * stepLU)
}
