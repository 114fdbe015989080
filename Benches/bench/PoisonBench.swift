import BenchNames
import Conversion
import Foundation
import Ledger
import TestSupport

/// The cluster's throughput on good jobs with one file in a hundred that kills its room, compared with none.
enum PoisonBench {
    private static let target = 0.95
    /// One job in this many is poisoned.
    private static let share = 100
    /// Places the poison in the first part of the queue, so that second attempts come while other jobs still wait.
    private static let part = 0.6

    static func run(_ bench: Workbench) async throws -> Section {
        let rounds = bench.rounds ?? (bench.isQuick ? 1 : 5)
        let cores = ProcessInfo.processInfo.activeProcessorCount
        let folder = try bench.largeFolder.folder("in")
        let clips = try Material.clips(bench.isQuick ? 200 : 2_000, in: folder)
        let names = clips.map { URL(filePath: $0.path).lastPathComponent }
        let poison = try poison(clips[0].path, in: folder)
        var section = Section(
            "poison",
            """
            Clips of 3-6 s, 8 kHz mono WAV, to 16 kHz through the cluster on all \(Plural.count(cores, "core")), in turns: none of them poisoned, and
            one in \(share), each of which kills the room that reads it (SIGSEGV), twice, and then fails in quarantine. Good jobs per
            second, from the submission until the last of them is recorded, medians of \(Plural.count(rounds, "round")). A second attempt comes
            after at most 50 ms rather than 10 s, so that the others pay for it as well: "deaths" says how many rooms had died by
            then, of how many. Target: at least \(target) of the throughput. A dead room costs the start of the
            next one, so short jobs lose more throughput.
            """,
            columns: [
                "format", "jobs", "jobs/s", "with 1 % poison", "ratio [min..max]", "deaths", "ms per death", "target",
            ]
        )
        // Enough jobs for ten seconds or more.
        for (format, full) in [(TargetFormat.opus16k, 1_000), (.flac16k, 6_000), (.wav16k, 8_000)] {
            let count = bench.isQuick ? full / 5 : full
            let clean = (0..<count).map { "in:" + names[$0 % names.count] }
            let distance = Int(Double(share) * part)
            var poisoned = clean
            for number in 0..<count / share { poisoned[number * distance + distance / 2] = "in:" + poison }
            let poisonCount = zip(clean, poisoned).count { $0 != $1 }
            let cluster = try await ClusterUnderBench.start(
                bench,
                slots: cores,
                program: bench.built("poisoned-sluice")
            )
            _ = try cluster.server.postgres.run("update sluice.setting set retry_base = '50 ms'")
            var pairs: [(clean: Double, poisoned: Double)] = []
            var deaths: [Double] = []
            var perDeath: [Double] = []
            for round in 0..<rounds {
                Bench.complain("\(format.rawValue), round \(round + 1)")
                let without = try await cluster.convert(clean, to: format, stem: "clean-\(format)-\(round)")
                let with = try await cluster.convert(
                    poisoned,
                    to: format,
                    stem: "poison-\(format)-\(round)",
                    failing: poisonCount
                )
                let speeds = (
                    clean: Double(count) / without.secondsOfGood,
                    poisoned: Double(count - poisonCount) / with.secondsOfGood
                )
                pairs.append(speeds)
                deaths.append(Double(with.deaths))
                let lost = with.secondsOfGood - Double(count - poisonCount) / speeds.clean
                perDeath.append(lost * Double(cores) * 1_000 / Double(max(1, with.deaths)))
            }
            try cluster.stop()
            let ratio = Ratio(pairs.map { $0.poisoned / $0.clean })
            section.add(
                [
                    format.rawValue, "\(count)", Rounds.median(pairs.map(\.clean)).fixed(0),
                    Rounds.median(pairs.map(\.poisoned)).fixed(0), ratio.text,
                    "\(Rounds.median(deaths).fixed(0)) of \(poisonCount * 2)", Rounds.median(perDeath).fixed(1),
                    "\(target)",
                ],
                numbers: ["ratio": ratio.median, "lowest": ratio.lowest, "highest": ratio.highest, "target": target],
                isWithin: ratio.median >= target
            )
        }
        return section
    }

    /// A copy of the clip with a marker in its middle that kills the rooms of `poisoned-sluice`.
    private static func poison(_ path: String, in folder: String) throws -> String {
        let name = "poison.wav"
        var bytes = try Bytes.read(path)
        let word: [UInt8] = [0] + Array("sluice-poison-v".utf8)
        let middle = bytes.count / 2
        bytes.replaceSubrange(middle..<middle + word.count, with: word)
        try Bytes.write(bytes, to: "\(folder)/\(name)")
        return name
    }
}
