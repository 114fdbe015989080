import BenchNames
import Conversion
import Foundation
import Ledger
import TestSupport

/// Two thousand short clips through the whole cluster, from submission until the last is published, compared with
/// the tools that users have today and with bare libav on the same cores.
enum ClusterBench {
    private static let floorTarget = 1.4
    private static let parallelTarget = 20.0
    private static let hourTarget = 1.03

    static func run(_ bench: Workbench) async throws -> [Section] {
        [try await clips(bench), try await hour(bench)]
    }

    // MARK: - Clips

    private static func clips(_ bench: Workbench) async throws -> Section {
        let count = bench.isQuick ? 200 : 2_000
        let rounds = bench.rounds ?? (bench.isQuick ? 1 : 3)
        let clips = try Material.clips(count, in: bench.largeFolder.folder("in"))
        let wide = try Material.clips(count, rate: 16_000, in: bench.largeFolder.folder("in-16k"))
        let cores = ProcessInfo.processInfo.activeProcessorCount
        var section = Section(
            "cluster",
            """
            \(count) clips of 3-6 s, 8 kHz mono WAV, to 16 kHz, on all \(Plural.count(cores, "core")) and on disk: wall-clock seconds, medians
            of \(Plural.count(rounds, "round")) in turns. The cluster has its PostgreSQL on the same cores, with fsync on, and each output is
            flushed and recorded; the others flush nothing. SoundConverter cannot set a sample rate: its clips are at 16 kHz already.
            ffmpeg under parallel, which takes minutes, runs once.
            """,
            columns: ["format", "who", "seconds", "clips/s", "times the cluster [min..max]", "target"]
        )
        for format in [TargetFormat.wav16k, .flac16k, .opus16k] {
            let cluster = try await ClusterUnderBench.start(bench, slots: cores)
            let rivals = try Rivals(
                bench,
                format: format,
                clips: clips.map(\.path),
                wide: wide.map(\.path),
                cores: cores
            )
            let expected = clips.reduce(0) { $0 + format.frames(from: $1.frames, rate: Material.clipRate) }
            let names = ["cluster"] + rivals.runs.map(\.name)
            var seconds = [String: [Double]]()
            for round in 0..<rounds {
                Bench.complain("\(format.rawValue), round \(round + 1)")
                let paths = clips.map { "in:" + URL(filePath: $0.path).lastPathComponent }
                let took = try await cluster.convert(paths, to: format, stem: "\(format.rawValue)-\(round)")
                guard took.frames == expected else {
                    throw SupportError("\(count) clips through the cluster", "\(took.frames) frames, not \(expected)")
                }
                seconds["cluster", default: []].append(took.seconds)
                for rival in rivals.runs where round == 0 || !rival.isSlow {
                    seconds[rival.name, default: []].append(try rival.run())
                }
            }
            try cluster.stop()
            guard let ours = seconds["cluster"] else { continue }
            for name in names {
                let theirs = seconds[name] ?? []
                let ratio = Ratio(zip(theirs, ours).map { $0 / $1 })
                let (target, isWithin) = verdict(name, format, ratio)
                section.add(
                    [
                        format.rawValue, name, Rounds.median(theirs).fixed(2),
                        (Double(count) / Rounds.median(theirs)).fixed(0), name == "cluster" ? "" : ratio.text, target,
                    ],
                    numbers: ["seconds": Rounds.median(theirs), "overCluster": ratio.median],
                    isWithin: isWithin
                )
            }
        }
        return section
    }

    private static func verdict(_ name: String, _ format: TargetFormat, _ ratio: Ratio) -> (String, Bool?) {
        switch name {
        case "floor": ("\((1 / floorTarget).fixed(2))", ratio.median >= 1 / floorTarget)
        case "ffmpeg + parallel" where format == .wav16k: ("\(parallelTarget.fixed(0))", ratio.median >= parallelTarget)
        case "SoundConverter": ("1", ratio.median >= 1)
        default: ("", nil)
        }
    }

    // MARK: - One hour

    private static func hour(_ bench: Workbench) async throws -> Section {
        let minutes = bench.isQuick ? 2 : 60
        let rounds = bench.rounds ?? (bench.isQuick ? 1 : 3)
        let folder = try bench.largeFolder.folder("in")
        let path = "\(folder)/hour.wav"
        let frames = try Material.piece(minutes: minutes, to: path)
        let out = try bench.largeFolder.folder("floor-hour")
        let cluster = try await ClusterUnderBench.start(bench, slots: 1)
        var section = Section(
            "cluster, one long file",
            "\(Plural.count(minutes, "minute")) of 44.1 kHz stereo to MP3 at 128 kbit/s through the cluster, in turns with the floor.",
            columns: ["format", "cluster s", "floor s", "cluster/floor [min..max]", "target"]
        )
        var pairs: [(ours: Double, floor: Double)] = []
        for round in 0..<rounds {
            Bench.complain("one long file, round \(round + 1)")
            let took = try await cluster.convert(["in:hour.wav"], to: .mp3, stem: "hour-\(round)")
            guard took.frames == frames else { throw SupportError("convert an hour", "\(took.frames) frames came out") }
            let floor = try MeasuredProgram.run(bench.floor, [TargetFormat.mp3.rawValue, out, path], core: nil)
            pairs.append((took.seconds, floor.wallSeconds))
        }
        try cluster.stop()
        let ratio = Ratio(pairs.map { $0.ours / $0.floor })
        section.add(
            [
                "mp3-128", Rounds.median(pairs.map(\.ours)).fixed(2), Rounds.median(pairs.map(\.floor)).fixed(2),
                ratio.text,
                "\(hourTarget)",
            ],
            numbers: ["overFloor": ratio.median, "target": hourTarget],
            isWithin: ratio.median <= hourTarget
        )
        return section
    }
}
