import BenchNames
import Conversion
import Foundation
import Ledger
import TestSupport

/// What files that kill rooms cost everybody else: the cluster's throughput with one in a hundred of them, beside none.
enum PoisonBench {
    private static let target = 0.95
    /// One of so many is poisoned.
    private static let share = 100

    static func run(_ bench: Workbench) async throws -> Section {
        let count = bench.isQuick ? 200 : 2_000
        let rounds = bench.rounds ?? (bench.isQuick ? 1 : 5)
        let cores = ProcessInfo.processInfo.activeProcessorCount
        let folder = try bench.largeFolder.folder("in")
        let clean = try Material.clips(count, in: folder).map { URL(filePath: $0.path).lastPathComponent }
        // Spread evenly, and not the first: a file in place of a good one.
        let poisoned = try clean.enumerated().map { number, name in
            guard number % share == share / 2 else { return name }
            return try poison("\(folder)/\(name)", in: folder, number)
        }
        let poisonCount = zip(clean, poisoned).count { $0 != $1 }
        var section = Section(
            "poison",
            """
            \(count) clips of 3-6 s, 8 kHz mono WAV, to 16 kHz through the cluster on all \(cores) cores, in turns: none of them poisoned, and
            \(poisonCount), each of which kills the room that reads it (SIGSEGV), twice, and is then in quarantine. Jobs that ended
            per second, medians of \(rounds) rounds. A second attempt comes after at most 50 ms rather than 10 s, so that the run
            has it whole. Target: at least \(target) of the throughput. A room costs its start, whatever job it dies of:
            the shorter the jobs, the more of them that is worth.
            """,
            columns: ["format", "jobs/s", "jobs/s, 1 % poison", "ratio [min..max]", "CPU ms per dead room", "target"]
        )
        for format in [TargetFormat.opus16k, .flac16k, .wav16k] {
            let cluster = try await ClusterUnderBench.start(
                bench,
                slots: cores,
                program: bench.built("poisoned-sluice")
            )
            try cluster.server.postgres.run("update sluice.setting set retry_base = '50 ms'")
            var pairs: [(clean: Double, poisoned: Double)] = []
            for round in 0..<rounds {
                Bench.complain("\(format.rawValue), round \(round + 1)")
                let without = try await cluster.convert(
                    clean.map { "in:" + $0 },
                    to: format,
                    stem: "clean-\(format)-\(round)"
                )
                let with = try await cluster.convert(
                    poisoned.map { "in:" + $0 },
                    to: format,
                    stem: "poison-\(format)-\(round)",
                    failing: poisonCount
                )
                pairs.append((Double(count) / without.seconds, Double(count) / with.seconds))
            }
            let deaths = try cluster.server.postgres.run(
                "select count(*) from sluice.attempt where code = 'room_crash' and outcome = 'failed'"
            )
            guard Int(deaths) == poisonCount * 2 * rounds else {
                throw SupportError("count dead rooms", "\(deaths), not \(poisonCount * 2 * rounds)")
            }
            try cluster.stop()
            let ratio = Ratio(pairs.map { $0.poisoned / $0.clean })
            let extraSeconds = Rounds.median(pairs.map { Double(count) / $0.poisoned - Double(count) / $0.clean })
            let perDeath = extraSeconds * Double(cores) / Double(poisonCount * 2) * 1_000
            section.add(
                [
                    format.rawValue, Rounds.median(pairs.map(\.clean)).fixed(0),
                    Rounds.median(pairs.map(\.poisoned)).fixed(0), ratio.text, perDeath.fixed(1), "\(target)",
                ],
                numbers: ["ratio": ratio.median, "lowest": ratio.lowest, "highest": ratio.highest, "target": target],
                isWithin: ratio.median >= target
            )
        }
        return section
    }

    /// The clip with a word in its middle that the rooms of `poisoned-sluice` die of.
    private static func poison(_ path: String, in folder: String, _ number: Int) throws -> String {
        let name = "poison-\(number).wav"
        var bytes = try Bytes.read(path)
        let word: [UInt8] = [0] + Array("sluice-poison-v".utf8)
        let middle = bytes.count / 2
        bytes.replaceSubrange(middle..<middle + word.count, with: word)
        try Bytes.write(bytes, to: "\(folder)/\(name)")
        return name
    }
}
