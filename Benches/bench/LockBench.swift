import Conversion
import Foundation
import TestSupport

/// The cost of the lock of pump rooms: the same work in rooms with it and without.
enum LockBench {
    private static let target = 1.03
    private static let startTarget = 100.0

    static func run(_ bench: Workbench) throws -> [Section] { [try work(bench), try start(bench), try replace(bench)] }

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
            it, start and all, medians. Target: at most \(target) times as much.
            """,
            columns: [
                "work", "rounds", "locked CPU s", "unlocked CPU s", "locked/unlocked [min..max]", "locked wall s",
                "unlocked wall s",
            ]
        )
        // A run of a second or two varies more than one of half a minute.
        let works: [(name: String, source: String, output: String, count: Int, rounds: Int)] = [
            ("\(clips) clips of 5 s, WAV to WAV", clip, "\(folder)/out.wav", clips, 6 * rounds),
            ("\(Plural.count(minutes, "minute")) of stereo, WAV to Opus", piece, "\(folder)/out.opus", 1, rounds),
        ]
        for work in works {
            Bench.complain(work.name)
            var runs: [String: [MeasuredProgram]] = [:]
            for _ in 0..<work.rounds {
                for mode in work.count > 1 ? ["many", "unlocked"] : ["one", "one-unlocked"] {
                    runs[mode.hasSuffix("unlocked") ? "unlocked" : "locked", default: []].append(
                        try MeasuredProgram.run(
                            bench.built("test-program"),
                            ["slot", mode, bench.built("sluice-room"), work.source, work.output, "\(work.count)"],
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
                [work.name, "\(work.rounds)"] + figures + [ratio.text] + walls,
                numbers: ["ratio": ratio.median, "lowest": ratio.lowest, "highest": ratio.highest, "target": target],
                isWithin: ratio.median <= target
            )
        }
        return section
    }

    private static func start(_ bench: Workbench) throws -> Section {
        let rooms = bench.isQuick ? 10 : 100
        var section = Section(
            "lock, a room's start",
            """
            From the request for a room until its first job is done, minus the time of that job in a warm room: wall-clock ms, medians of
            \(rooms) rooms each. Target: under \(startTarget.fixed(0)).
            """,
            columns: ["room", "ms", "target"]
        )
        for (name, milliseconds) in try milliseconds(bench, "start", rooms: rooms) {
            section.add(
                [name, milliseconds.fixed(1), startTarget.fixed(0)],
                numbers: ["milliseconds": milliseconds, "target": startTarget],
                isWithin: milliseconds < startTarget
            )
        }
        return section
    }

    private static func replace(_ bench: Workbench) throws -> Section {
        let rooms = bench.isQuick ? 20 : 200
        var section = Section(
            "lock, a room and a job",
            """
            A room for each of \(rooms) jobs of a second of sound, made by the slot's fork server or started as a program: processor time
            of all processes, in milliseconds for each.
            """,
            columns: ["room", "CPU ms"]
        )
        for (name, milliseconds) in try milliseconds(bench, "replace", rooms: rooms) {
            section.add([name, milliseconds.fixed(1)], numbers: ["milliseconds": milliseconds], isWithin: nil)
        }
        return section
    }

    /// A slot's measurements of rooms that it starts for a short clip, by the first word of each line.
    private static func milliseconds(_ bench: Workbench, _ mode: String, rooms: Int) throws -> [(String, Double)] {
        let folder = try bench.fastFolder.folder("lock-\(mode)")
        let clip = "\(folder)/clip.wav"
        try WAVFile.write(Signal.speechLike(seed: 1, rate: 8_000, seconds: 1).pcm(.s16), to: clip)
        let run = try MeasuredProgram.run(
            bench.built("test-program"),
            ["slot", mode, bench.built("sluice-room"), clip, "\(folder)/out.wav", "\(rooms)"],
            core: nil
        )
        return try String(decoding: run.output, as: UTF8.self).split(separator: "\n").map { line in
            let words = line.split(separator: " ")
            guard words.count == 2, let microseconds = Double(words[1]) else {
                throw SupportError("read what a room takes", "\(line)")
            }
            return (String(words[0].split(separator: "-")[0]), microseconds / 1_000)
        }
    }
}
