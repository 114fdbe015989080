extension AlbumMeasure {
    /// The loudness of blocks with this mean energy, by BS.1770. Minus infinity for 0.
    private static func lufs(_ energy: Double) -> Double { 10 * _log10(energy) - 0.691 }

    /// The most blocks that `seconds` of sound have.
    private static func mostBlocks(in seconds: Double) -> Double { seconds * 10 + 10 }

    /// The measure with no more blocks than `seconds` of sound have, in the same proportions: it then moves the level of
    /// its album no further than sound of this length could.
    package func weighing(atMost seconds: Double) -> AlbumMeasure {
        let total = blocks.reduce(0.0) { $0 + Double($1) }
        let most = Self.mostBlocks(in: seconds)
        guard total > most else { return self }
        var measure = AlbumMeasure(truePeakDBTP: truePeakDBTP)
        // Rounds the sums, because steps with few blocks would all come to nothing.
        var (passed, sum) = (0.0, 0.0)
        for index in steps.indices {
            let count = Double(blocks[index])
            passed += count
            let kept = (passed * most / total).rounded(.down) - sum
            guard kept >= 1 else { continue }
            sum += kept
            measure.steps.append(steps[index])
            measure.blocks.append(Int64(kept))
            measure.energies.append(energies[index] * kept / count)
        }
        return measure
    }

    /// Whether some sound of at most `seconds` can have this measure.
    package func isCredible(within seconds: Double) -> Bool {
        guard steps.count == blocks.count, steps.count == energies.count, steps.count <= Self.stepCount,
            zip(steps, steps.dropFirst()).allSatisfy(<), steps.first ?? 0 >= 0, steps.last ?? 0 <= Self.loudestStep,
            blocks.allSatisfy({ $0 > 0 }), blocks.reduce(0.0, { $0 + Double($1) }) <= Self.mostBlocks(in: seconds)
        else { return false }
        return steps.indices.allSatisfy { index in
            let loudness = Self.lufs(energies[index] / Double(blocks[index]))
            let low = Self.floorLUFS + Double(steps[index]) * Self.stepLU
            return loudness >= low - 0.001 && loudness <= low + Self.stepLU + 0.001
        }
    }
}
