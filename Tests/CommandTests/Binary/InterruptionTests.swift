import Foundation
import TestSupport
import Testing

/// What an interrupted conversion leaves behind and reports, and what it prints while it runs.
struct InterruptionTests {
    let folder: TemporaryFolder
    let sound: HalvedWAV

    init() throws {
        folder = try TemporaryFolder.create()
        sound = try HalvedWAV()
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP, SIGKILL], ["out.flac", "out.wav", "out.m4a"])
    func nothingIsLeftOfAnInterruptedConversion(signal: Int32, name: String) throws {
        let running = try sound.begin([name], in: folder)
        #expect(try folder.names() == [])
        running.signal(signal)
        try running.ends(with: .signalled(signal == SIGHUP ? SIGTERM : signal))
        #expect(try folder.names() == [])
        #expect(running.outputText.isEmpty)
        if signal == SIGKILL { return }
        let who = signal == SIGINT ? "Ctrl-C" : "SIGTERM"
        #expect(running.errorText.hasSuffix("stopped by \(who); nothing was written\n"))
    }

    @Test(arguments: [SIGINT, SIGKILL])
    func whatWasThereStaysAfterAnInterruption(signal: Int32) throws {
        try Bytes.write(Array("old".utf8), to: folder.path("out.flac"))
        let running = try sound.begin(["out.flac", "--on-conflict", "replace"], in: folder)
        running.signal(signal)
        try running.ends(with: .signalled(signal))
        #expect(try Bytes.read(folder.path("out.flac")) == Array("old".utf8))
        #expect(try folder.names() == ["out.flac"])
    }

    /// `nohup` and a shell's background jobs start programs with signals ignored.
    @Test func signalsThatAreToBeIgnoredAreIgnored() throws {
        let line = "trap '' HUP INT; exec \"$0\" convert - out.flac --progress json"
        let running = try RunningSluice(["-c", line, Sluice.path], in: folder, program: "/bin/sh")
        try running.feed(sound.first)
        try running.waitForTalk("\"state\":\"running\"")
        running.signal(SIGHUP)
        running.signal(SIGINT)
        try running.feed(sound.second)
        running.endFeed()
        try running.ends(with: .exited(0))
        #expect(try folder.names() == ["out.flac"])
    }

    @Test func interruptedConversionIsCancelledForPrograms() throws {
        let running = try sound.begin(["out.flac", "--json"], in: folder)
        running.signal(SIGINT)
        try running.ends(with: .signalled(SIGINT))
        #expect(running.outputText == #"{"destination":"out.flac","source":"-","state":"cancelled"}"# + "\n")
    }

    /// A thread that opens a FIFO without a writer blocks and cannot see a cancellation.
    @Test func oneSignalEndsEvenWhatCannotBeAsked() throws {
        try #require(mkfifo(folder.path("pipe"), 0o600) == 0)
        let running = try RunningSluice(["convert", "pipe", "out.flac"], in: folder)
        let tasks = "/proc/\(running.id)/task"
        // The command listens for signals before it starts its working thread.
        try running.wait(
            until: { ((try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []).count == 2 },
            for: "starting to work"
        )
        running.signal(SIGINT)
        try running.ends(with: .signalled(SIGINT))
        #expect(try folder.names() == ["pipe"])
    }

    @Test func twoConversionsToOneNameLeaveOneWholeFile() throws {
        let pair = [try sound.begin(["out.flac"], in: folder), try sound.begin(["out.flac"], in: folder)]
        for running in pair {
            try running.feed(sound.second)
            running.endFeed()
        }
        let ends = try pair.map { ($0, try $0.end()) }
        let winners = ends.filter { $0.1 == .exited(0) }
        #expect(winners.count == 1)
        let losers = ends.filter { $0.1 == .exited(1) }
        #expect(losers.count == 1)
        #expect(losers.first?.0.errorText.contains("code destination_exists, stage publish") == true)
        #expect(try folder.names() == ["out.flac"])
        #expect(try FFmpeg.decode(folder.path("out.flac")).frames == HalvedWAV.frames)
    }

    // MARK: - Progress for programs

    @Test func plainProgressIsBlocksThatEnd() throws {
        let running = try RunningSluice(
            ["convert", "-", "out.flac", "--from", "10", "--progress", "plain"],
            in: folder
        )
        try running.feed(sound.first)
        try running.waitForTalk("progress=continue\n")
        try running.feed(sound.second)
        running.endFeed()
        try running.ends(with: .exited(0))
        let blocks = running.errorText.split(separator: #/progress=.*\n/#, omittingEmptySubsequences: false)
        #expect(blocks.count >= 3 && blocks.last == "")
        let lines: [[Substring]] = running.errorText.split(separator: "\n")
            .map { $0.split(separator: "=", maxSplits: 1) }
        #expect(lines.allSatisfy { $0.count == 2 })
        let progress: [Substring] = lines.filter { $0[0] == "progress" }.map { $0[1] }
        #expect(progress.last == "end")
        #expect(progress.dropLast().allSatisfy { $0 == "continue" })
        let last = Dictionary(lines.suffix(6).map { ($0[0], $0[1]) }, uniquingKeysWith: { $1 })
        #expect(last["frames"] == "400000")
        #expect(last["total_frames"] == "400000")
        #expect(last["position"] == "60.000")
        let frames = lines.filter { $0[0] == "frames" }.compactMap { Int($0[1]) }
        #expect(frames == frames.sorted())
    }

    @Test func jsonProgressIsLinesThatEnd() throws {
        let running = try sound.begin(["out.flac"], in: folder)
        try running.feed(sound.second)
        running.endFeed()
        try running.ends(with: .exited(0))
        let events = try running.errorText.split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        #expect(events.count >= 2)
        #expect(events.dropLast().allSatisfy { $0["state"] as? String == "running" })
        let last = try #require(events.last)
        #expect(last["state"] as? String == "completed")
        #expect(last["frames"] as? Int == HalvedWAV.frames)
        #expect(last["positionSeconds"] as? String == "60.000000")
        #expect(running.outputText.hasPrefix("out.flac  1:00  "))
    }

    @Test func scanTellsItsProgressAndItsEnd() throws {
        let running = try RunningSluice(["probe", "--scan", "-", "--progress", "json"], in: folder)
        try running.feed(sound.first)
        try running.waitForTalk("\"state\":\"running\"")
        try running.feed(sound.second)
        running.endFeed()
        try running.ends(with: .exited(0))
        #expect(running.errorText.split(separator: "\n").last?.contains("\"state\":\"completed\"") == true)
        #expect(running.outputText.contains("480,000 frames decoded, no damage"))
    }

    @Test func shortWorkIsDoneInSilence() throws {
        try WAVFile.write(Signal.tone(440, rate: 8000, frames: 800).pcm(.s16), to: folder.path("in.wav"))
        for style in ["auto", "none"] {
            let run = try Sluice.run("convert", "in.wav", "\(style).wav", "--progress", style, in: folder)
            #expect(run.succeeded && run.errorText.isEmpty)
        }
    }
}
