import Conversion
import Foundation
import TestSupport

/// What it costs to find the points of a file, beside decoding it.
enum PointsBench {
    /// A day of stereo in five minutes.
    private static let target = 288.0

    static func run(_ bench: Workbench) throws -> Section {
        let minutes = bench.isQuick ? 5 : 30
        let rounds = bench.rounds ?? (bench.isQuick ? 3 : 7)
        let folder = try bench.fastFolder.folder("points")
        var section = Section(
            "points",
            """
            \(Plural.count(minutes, "minute")) of 44.1 kHz stereo, 16 bits, on one core. CPU seconds of whole commands, medians of
            \(Plural.count(rounds, "round")): probe --points and probe --scan. Target: at least \(Int(target)) times real time.
            """,
            columns: ["source", "points s", "scan s", "/scan [min..max]", "x real time"]
        )
        let piece = "\(folder)/piece.wav"
        _ = try Material.piece(minutes: minutes, to: piece)
        func sluice(_ words: String...) throws -> Double {
            try MeasuredProgram.run(bench.sluice, words, core: bench.core).cpuSeconds
        }
        _ = try sluice("convert", piece, "\(folder)/piece.flac", "--on-conflict", "replace")
        for source in ["flac", "wav"] {
            let path = "\(folder)/piece.\(source)"
            let programs: [() throws -> Double] = [
                { try sluice("probe", "--points", "--points-format", "csv", path) },
                { try sluice("probe", "--scan", path) },
            ]
            let measured = try Rounds.run(rounds, warmUp: programs.map { program in { _ = try program() } }, programs)
            let ratio = Ratio(measured.seconds.map { $0[0] / $0[1] })
            let speed = Double(minutes * 60) / measured.median(of: 0)
            section.add(
                [
                    source, measured.median(of: 0).fixed(3), measured.median(of: 1).fixed(3), ratio.text,
                    speed.fixed(0),
                ],
                numbers: [
                    "pointsSeconds": measured.median(of: 0), "scanSeconds": measured.median(of: 1),
                    "overScan": ratio.median, "lowest": ratio.lowest, "highest": ratio.highest,
                    "timesRealTime": speed, "target": target,
                ],
                isWithin: speed >= target
            )
        }
        return section
    }
}
