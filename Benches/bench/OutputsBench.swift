import Conversion
import Foundation
import TestSupport

/// What several outputs of one decode cost, compared with a conversion for each.
enum OutputsBench {
    private static let target = 1.05

    static func run(_ bench: Workbench) throws -> Section {
        let minutes = bench.isQuick ? 2 : 10
        let rounds = bench.rounds ?? (bench.isQuick ? 2 : 5)
        let folder = try bench.fastFolder.folder("outputs")
        var section = Section(
            "outputs",
            """
            \(Plural.count(minutes, "minute")) of 44.1 kHz stereo from FLAC, on one core. CPU seconds of whole commands, medians of
            \(Plural.count(rounds, "round")): three outputs of one command, each output alone, and the decode alone (to WAV). Target: at most
            \(target) times the encoders and one decode, which is the sum of the three without two decodes.
            """,
            columns: ["outputs", "together s", "each alone s", "decode s", "/sum [min..max]"]
        )
        let (piece, source) = ("\(folder)/piece.wav", "\(folder)/piece.flac")
        _ = try Material.piece(minutes: minutes, to: piece)
        func sluice(_ words: String...) throws -> Double {
            let all = ["convert"] + words + ["--on-conflict", "replace"]
            return try MeasuredProgram.run(bench.sluice, all, core: bench.core).cpuSeconds
        }
        _ = try sluice(piece, source)
        let outputs = ["mp3", "opus", "m4a"].map { "\(folder)/out.\($0)" }
        let programs: [() throws -> Double] = [
            { try sluice(source, outputs[0], "--also", outputs[1], "--also", outputs[2]) },
            { try sluice(source, outputs[0]) }, { try sluice(source, outputs[1]) }, { try sluice(source, outputs[2]) },
            { try sluice(source, "\(folder)/out.wav") },
        ]
        let measured = try Rounds.run(rounds, warmUp: programs.map { program in { _ = try program() } }, programs)
        let ratio = Ratio(measured.seconds.map { $0[0] / ($0[1] + $0[2] + $0[3] - 2 * $0[4]) })
        let alone = (1...3).map { measured.median(of: $0).fixed(2) }.joined(separator: ", ")
        section.add(
            [
                "mp3, opus, m4a", measured.median(of: 0).fixed(2), alone, measured.median(of: 4).fixed(2), ratio.text,
            ],
            numbers: [
                "togetherSeconds": measured.median(of: 0), "decodeSeconds": measured.median(of: 4),
                "overSum": ratio.median, "lowest": ratio.lowest, "highest": ratio.highest, "target": target,
            ],
            isWithin: ratio.median <= target
        )
        return section
    }
}
