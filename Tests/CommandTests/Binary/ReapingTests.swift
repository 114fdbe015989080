import Foundation
import TestSupport
import Testing

/// A command waits for every process that it started. In a container it may be process 1, or the child of a process that
/// waits for nothing: what it left behind would stay there as a zombie.
struct ReapingTests {
    private static let subreaper = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Programs/Subreaper/subreaper").path

    private let material: Material

    init() throws { material = try Material() }

    /// Runs `sluice` below a subreaper. Returns the processes that it left behind, a line for each, and its status.
    private func run(_ words: [String], input: Run.Input = .nothing) throws -> (left: String, status: Run.Status) {
        let note = material.path(".left")
        let run = try Run.program(
            Self.subreaper,
            [note, Sluice.path] + words,
            input: input,
            environment: Sluice.environment(),
            folder: material.folder.path
        )
        return (try String(contentsOfFile: note, encoding: .utf8), run.status)
    }

    @Test(arguments: [
        "convert talk.wav a.flac", "convert talk.wav a.mp3 --verify", "convert talk.wav a.flac --also a.mp3",
        "convert talk.wav a.flac --replaygain track", "convert talk.wav a.mp3 --loudness podcast",
        "convert talk.wav - --container raw", "join talk.wav talk.wav a.flac", "mix talk.wav talk.wav a.flac",
        "split talk.wav --at 0.1,0.3 --to {stem}-{n}.flac", "probe talk.wav", "probe --scan talk.wav talk.wav",
        "presets --for talk.wav", "probe --loudness talk.wav",
    ])
    func commandLeavesNoProcessBehind(line: String) throws {
        let (left, status) = try run(line.split(separator: " ").map(String.init))
        #expect(left.isEmpty)
        #expect(status == .exited(0), "\(line)")
    }

    @Test(arguments: ["convert damaged.flac a.wav", "probe --scan damaged.flac", "join talk.wav damaged.flac a.wav"])
    func commandThatFailsLeavesNoneEither(line: String) throws {
        try material.addDamaged()
        let (left, status) = try run(line.split(separator: " ").map(String.init))
        #expect(left.isEmpty)
        #expect(status != .exited(0), "\(line)")
    }

    /// The signals come in every moment of its end.
    @Test(arguments: ["convert - a.flac", "convert - - --container raw", "probe --scan -"], [SIGINT, SIGTERM])
    func interruptedCommandLeavesNone(line: String, signal: Int32) throws {
        let sound = try HalvedWAV()
        let words = line.split(separator: " ").map(String.init) + ["--progress", "json"]
        let running = try RunningSluice(
            [material.path(".left"), Sluice.path] + words,
            in: material.folder,
            program: Self.subreaper
        )
        try running.feed(sound.first)
        try running.waitForTalk("\"state\":\"running\"")
        running.signal(signal)
        try running.ends(with: .exited(128 + signal))
        #expect(try String(contentsOfFile: material.path(".left"), encoding: .utf8).isEmpty)
    }

    @Test func doctorLeavesNone() throws {
        let (left, status) = try run(["doctor", "--database", "host=/nowhere"])
        #expect(left.isEmpty)
        #expect(status == .exited(1))
    }
}
