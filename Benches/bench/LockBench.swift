import Foundation
import TestSupport

/// What the lock of pump rooms costs: the same work in rooms with it and without.
enum LockBench {
    private static let target = 1.03
    private static let startTarget = 100.0

    static func run(_ bench: Workbench) throws -> [Section] { [try work(bench), try start(bench)] }

    private static func work(_ bench: Workbench) throws -> Section {
        let clips = bench.isQuick ? 200 : 2_000
        let minutes = bench.isQuick ? 2 : 60
        let rounds = bench.rounds ?? (bench.isQuick ? 1 : 5)
        let folder = try bench.fastFolder.folder("lock")
        let clip = "\(folder)/clip.wav"
        try WAVFile.write(Signal.speechLike(seed: 1, rate: 8_000, seconds: 5).pcm(.s16), to: clip)
        let piece = try bench.largeFolder.folder("lock") + "/piece.wav"
        _ = try Material.piece(minutes: minutes, to: piece)
        var section = Section(
            "lock",
            """
            The same jobs in one room with its lock and in one without, in turns: processor time of the room and of the slot that feeds
            it, start and all, medians of \(rounds) rounds. Target: at most \(target) times as much.
            """,
            columns: [
                "work", "locked CPU s", "unlocked CPU s", "locked/unlocked [min..max]", "locked wall s",
                "unlocked wall s",
            ]
        )
        let works: [(name: String, source: String, output: String, count: Int)] = [
            ("\(clips) clips of 5 s, WAV to WAV", clip, "\(folder)/out.wav", clips),
            ("\(minutes) minutes of stereo, WAV to Opus", piece, "\(folder)/out.opus", 1),
        ]
        for work in works {
            Bench.complain(work.name)
            var runs: [String: [MeasuredProgram]] = [:]
            for _ in 0..<rounds {
                for mode in work.count > 1 ? ["many", "unlocked"] : ["one", "one-unlocked"] {
                    runs[mode.hasSuffix("unlocked") ? "unlocked" : "locked", default: []].append(
                        try MeasuredProgram.run(
                            bench.built("slot-process"),
                            [mode, bench.sluice, work.source, work.output, "\(work.count)"],
                            core: nil
                        )
                    )
                }
            }
            let (locked, unlocked) = (runs["locked"] ?? [], runs["unlocked"] ?? [])
            let ratio = Ratio(zip(locked, unlocked).map { $0.cpuSeconds / $1.cpuSeconds })
            let figures = [locked.map(\.cpuSeconds), unlocked.map(\.cpuSeconds)].map { Rounds.median($0).fixed(3) }
            let walls = [locked.map(\.wallSeconds), unlocked.map(\.wallSeconds)].map { Rounds.median($0).fixed(3) }
            section.add(
                [work.name] + figures + [ratio.text] + walls,
                numbers: ["ratio": ratio.median, "lowest": ratio.lowest, "highest": ratio.highest, "target": target],
                isWithin: ratio.median <= target
            )
        }
        return section
    }

    private static func start(_ bench: Workbench) throws -> Section {
        let rooms = bench.isQuick ? 10 : 100
        let folder = try bench.fastFolder.folder("lock-start")
        let clip = "\(folder)/clip.wav"
        try WAVFile.write(Signal.speechLike(seed: 1, rate: 8_000, seconds: 1).pcm(.s16), to: clip)
        var section = Section(
            "lock, a room's start",
            """
            From the order until the first job is done, less what that job takes in a warm room: wall-clock milliseconds, medians of
            \(rooms) rooms each. Target: under \(startTarget.fixed(0)).
            """,
            columns: ["room", "ms", "target"]
        )
        let run = try MeasuredProgram.run(
            bench.built("slot-process"),
            ["start", bench.sluice, clip, "\(folder)/out.wav", "\(rooms)"],
            core: nil
        )
        for line in String(decoding: run.output, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count == 2, let microseconds = Double(words[1]) else {
                throw SupportError("read how long a room's start takes", "\(line)")
            }
            let name = words[0].split(separator: "-")[0]
            let milliseconds = microseconds / 1_000
            section.add(
                [String(name), milliseconds.fixed(1), startTarget.fixed(0)],
                numbers: ["milliseconds": milliseconds, "target": startTarget],
                isWithin: milliseconds < startTarget
            )
        }
        return section
    }
}
