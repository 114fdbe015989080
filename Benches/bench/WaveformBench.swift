import Conversion
import Foundation
import TestSupport

/// What the peaks of a sound cost in the pass of its conversion.
enum WaveformBench {
    private static let target = 1.03

    static func run(_ bench: Workbench) throws -> Section {
        let minutes = bench.isQuick ? 5 : 30
        let rounds = bench.rounds ?? (bench.isQuick ? 3 : 7)
        let folder = try bench.fastFolder.folder("waveform")
        var section = Section(
            "waveform",
            """
            \(Plural.count(minutes, "minute")) of 44.1 kHz stereo, 16 bits, to WAV, on one core. CPU seconds of whole commands, medians of
            \(Plural.count(rounds, "round")): with peaks (.dat, 256 frames, 8 bits) and without. Target: at most \(target) times.
            """,
            columns: ["source", "with s", "without s", "/without [min..max]"]
        )
        let piece = "\(folder)/piece.wav"
        _ = try Material.piece(minutes: minutes, to: piece)
        func sluice(_ words: String...) throws -> Double {
            let all = ["convert"] + words + ["--on-conflict", "replace"]
            return try MeasuredProgram.run(bench.sluice, all, core: bench.core).cpuSeconds
        }
        _ = try sluice(piece, "\(folder)/piece.flac")
        for source in ["flac", "wav"] {
            let (from, to) = ("\(folder)/piece.\(source)", "\(folder)/out.wav")
            let programs: [() throws -> Double] = [
                { try sluice(from, to, "--waveform", "\(folder)/out.dat") }, { try sluice(from, to) },
            ]
            let measured = try Rounds.run(rounds, warmUp: programs.map { program in { _ = try program() } }, programs)
            let ratio = Ratio(measured.seconds.map { $0[0] / $0[1] })
            section.add(
                [source, measured.median(of: 0).fixed(3), measured.median(of: 1).fixed(3), ratio.text],
                numbers: [
                    "withSeconds": measured.median(of: 0), "withoutSeconds": measured.median(of: 1),
                    "overWithout": ratio.median, "lowest": ratio.lowest, "highest": ratio.highest, "target": target,
                ],
                isWithin: ratio.median <= target
            )
        }
        return section
    }
}
