import Conversion
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import PumpRoom

/// What a room has given up before its first job, as reported by the kernel and by the room.
@Suite(.timeLimit(.minutes(15))) struct RoomLockTests {
    let bench: SlotBench

    init() throws { bench = try SlotBench() }

    /// The fields of /proc/PID/status, by name.
    private func status(of process: Int32) throws -> [String: [String]] {
        let text = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let lines = text.split(separator: "\n").map { $0.split(separator: ":", maxSplits: 1).map(String.init) }
        return Dictionary(
            uniqueKeysWithValues: lines.map { ($0[0], $0.last?.split(separator: "\t").map(String.init) ?? []) }
        )
    }

    @Test func lockIsWholeAndTheKernelSaysSo() async throws {
        let slot = bench.slot { $0.sandbox = .require }
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        let level = try #require(slot.level)
        #expect(level.isComplete, "\(level)")
        #expect(level.warning == nil)
        let room = try #require(slot.process)
        let status = try status(of: room)
        #expect(status["NoNewPrivs"] == ["1"])
        // Filter mode, not the strict mode with its few calls.
        #expect(status["Seccomp"] == ["2"])
        // The first thread, which waits, the listener and the worker. The filter allows no further thread.
        #expect(status["Threads"] == ["3"])
        for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] { #expect(status[set] == ["0000000000000000"], "\(set)") }
        let uids = try #require(status["Uid"])
        #expect(Set(uids) == ["\(level.user)"])
        if geteuid() == 0 {
            #expect(level.layers.contains(.ownUser))
            #expect(level.user == 0x7000_0000 + UInt32(room))
            #expect(status["Gid"] == uids)
            #expect(status["Groups"]?.joined().trimmingCharacters(in: .whitespaces).isEmpty ?? true)
        }
        await slot.close()
    }

    /// The filter applies to every thread, including the one started before it.
    @Test func allThreadsAreFiltered() async throws {
        let slot = bench.slot()
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        let room = try #require(slot.process)
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(room)/task")
        #expect(threads.count == 3)
        for thread in threads {
            let text = try String(contentsOfFile: "/proc/\(room)/task/\(thread)/status", encoding: .utf8)
            #expect(text.contains("\nSeccomp:\t2\n"), "\(thread)")
            #expect(text.contains("\nNoNewPrivs:\t1\n"), "\(thread)")
        }
        await slot.close()
    }

    @Test func limitsAreThoseOfTheConfiguration() async throws {
        let slot = bench.slot {
            $0.memoryLimitBytes = 300 << 20
            $0.cpuLimit = .seconds(4_321)
            $0.outputLimitBytes = 123_456_789
        }
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        let text = try String(contentsOfFile: "/proc/\(try #require(slot.process))/limits", encoding: .utf8)
        func limit(_ name: String) throws -> [String] {
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(name) })
            return line.dropFirst(name.count).split(separator: " ").prefix(2).map(String.init)
        }
        #expect(try limit("Max core file size") == ["0", "0"])
        #expect(try limit("Max cpu time") == ["4321", "4321"])
        #expect(try limit("Max file size") == ["190565653", "190565653"])
        #expect(try limit("Max processes") == ["0", "0"])
        #expect(try limit("Max open files") == ["2309", "2309"])
        let space = try #require(Int64(try limit("Max address space")[0]))
        #expect(space > 300 << 20 && space < 4 << 30)
        await slot.close()
    }

    @Test func lockThatIsNotWantedIsNotThere() async throws {
        let warnings = Mutex<[String]>([])
        let slot = RoomSlot(
            1,
            configuration: SlotBench.configuration { $0.sandbox = .off },
            warn: { warning in warnings.withLock { $0.append(warning) } }
        )
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        #expect(slot.level?.sandbox == .off)
        #expect(slot.level?.layers == [])
        #expect(try status(of: try #require(slot.process))["Seccomp"] == ["0"])
        let warned: [String] = warnings.withLock { $0 }
        #expect(warned.count == 1)
        await slot.close()
    }

    @Test func memoryBeyondTheLimitEndsTheJobOrTheRoomAndNothingElse() async throws {
        // Encoding FLAC takes seven megabytes. Reading a cover of 16 MB may take more than the limit of 64 MiB leaves.
        let path = bench.folder.path("cover.flac")
        try FFmpeg.encode(bench.clip, to: path)
        let sound = try Bytes.read(path)
        let size = 16_000_000
        var picture: [UInt8] = [0x06, UInt8(size >> 16 & 0xFF), UInt8(size >> 8 & 0xFF), UInt8(size & 0xFF)]
        let head: [UInt8] = [0, 0, 0, 3, 0, 0, 0, 9] + Array("image/png".utf8) + [UInt8](repeating: 0, count: 20)
        let data = size - head.count - 4
        let length: [UInt8] = [24, 16, 8, 0].map { (shift: Int) -> UInt8 in UInt8(data >> shift & 0xFF) }
        picture += head + length
        let streamInfo = 4 + 4 + 34
        try Bytes.write(
            Array(sound[..<streamInfo]) + picture + [UInt8](repeating: 0, count: data) + Array(sound[streamInfo...]),
            to: path
        )
        let slot = bench.slot { $0.memoryLimitBytes = 64 << 20 }
        for _ in 0..<3 {
            let outcome = await SlotRun(try SlotWork(from: path, to: bench.folder.path("c.mp3")), in: slot).outcome
            if case .failed(let failure) = outcome {
                #expect(["out_of_memory", "room_crash"].contains(failure.failure.code), "\(failure)")
            }
        }
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        await slot.close()
    }

    // MARK: - What must go on working

    /// A format that can be written.
    private struct Kind: CustomStringConvertible {
        let rule: FormatRule
        let depth: SampleDepth?
        let endianness: Endianness?

        var description: String {
            "\(rule.container)/\(rule.codec) \(depth?.bits ?? 0) \(endianness?.rawValue ?? "")"
        }
    }

    private static let kinds = FormatTable.rules.flatMap { rule -> [Kind] in
        guard !rule.depths.isEmpty else { return [Kind(rule: rule, depth: nil, endianness: nil)] }
        return rule.depths.flatMap { depth -> [Kind] in
            guard !depth.endiannesses.isEmpty else { return [Kind(rule: rule, depth: depth, endianness: nil)] }
            return depth.endiannesses.map { Kind(rule: rule, depth: depth, endianness: $0) }
        }
    }

    /// Every writable format in every sample size, written and read again under a complete lock.
    @Test func everyFormatIsWrittenAndReadUnderLock() async throws {
        let slot = bench.slot { $0.sandbox = .require }
        let sounds = [1, 2].map { bench.folder.path("source-\($0).wav") }
        for (path, channels) in zip(sounds, [1, 2]) {
            let signal = Signal.tone(440, rate: 48_000, frames: 24_000, channels: channels)
            try WAVFile.write(signal.pcm(.s16), to: path)
        }
        var room: Int32?
        var count = 0
        for (number, kind) in Self.kinds.enumerated() {
            let (rule, depth) = (kind.rule, kind.depth)
            let file = bench.folder.path("\(number).\(rule.container.fileExtensions[0])")
            // A different rate adds a resampler. Not for 24 bits: they are resampled at 32 bits and then cut,
            // which verifying would report.
            let rate = rule.rates.contains(44_100) && depth?.bits != 24 ? 44_100 : nil
            let there = try SlotWork(from: sounds[rule.channels.contains(2) ? 1 : 0], to: file) {
                $0.outputs[0].format = AudioFormat(
                    container: rule.container,
                    codec: rule.codec,
                    sampleRateHz: rate,
                    bitDepth: depth?.bits,
                    sampleKind: depth?.kind,
                    endianness: kind.endianness
                )
                $0.verify = rule.container != .raw
            }
            let outcome = await SlotRun(there, in: slot).outcome
            guard case .done = outcome else {
                Issue.record("\(kind): \(outcome)")
                continue
            }
            count += 1
            if room == nil { room = slot.process }
            guard rule.container != .raw else { continue }
            let read = await SlotRun(try SlotWork(from: file, to: bench.folder.path("back.wav")), in: slot).outcome
            guard case .done = read else {
                Issue.record("\(kind), read again: \(read)")
                continue
            }
        }
        #expect(count > 40, "\(count)")
        // No file killed its room.
        #expect(slot.process == room)
        await slot.close()
    }

    /// Sources that ffmpeg can make from a tone and that rooms can only read.
    @Test func everyOtherSourceIsReadUnderLock() async throws {
        let cases = [
            "a.w64", "a.au", "a.aifc -f aiff -c:a pcm_s16le", "a.mov -c:a pcm_s24be", "a.tta",
            "f.mp4 -c:a flac -strict -2", "n.mp3 -write_xing 0", "m.mka -c:a libmp3lame", "a.mp2", "a.aac",
            "aac.mka -c:a aac", "frag.mp4 -c:a aac -movflags frag_keyframe+empty_moov", "a.ts -c:a aac",
            "latm.ts -c:a aac -mpegts_flags latm", "a.ac3", "a.eac3", "a.dts -c:a dca -strict -2",
            "v.webm -c:a libvorbis", "o.ts -c:a libopus", "o.caf -c:a libopus", "a.wma -c:a wmav2",
            "b.wma -c:a wmav1", "ima.wav -c:a adpcm_ima_wav", "ms.wav -c:a adpcm_ms",
            "g722.wav -c:a g722 -ar 16000 -ac 1", "g.mov -c:a adpcm_ima_qt", "f64.wav -c:a pcm_f64le",
            "rf64.wav -rf64 always", "w.mka -c:a wavpack", "f.ogg -c:a flac", "o.webm -c:a libopus",
            "o.mp4 -c:a libopus",
        ]
        let source = bench.folder.path("tone.wav")
        try WAVFile.write(Signal.tone(440, rate: 48_000, frames: 48_000, channels: 2).pcm(.s16), to: source)
        let slot = bench.slot { $0.sandbox = .require }
        for line in cases {
            let words = line.split(separator: " ").map(String.init)
            let path = bench.folder.path(words[0])
            try FFmpeg.encode(source, to: path, Array(words.dropFirst()))
            for damage in [DamageMode.strict, .conceal] {
                let work = try SlotWork(from: path, to: bench.folder.path("out.flac")) { $0.damage = damage }
                let outcome = await SlotRun(work, in: slot).outcome
                guard case .done = outcome else {
                    Issue.record("\(line) \(damage): \(outcome)")
                    continue
                }
            }
        }
        await slot.close()
    }

    /// The same bytes in a locked and in an unlocked room.
    @Test(arguments: ["out.flac", "out.mp3", "out.opus", "out.m4a"])
    func lockChangesNoByte(name: String) async throws {
        var results: [[UInt8]] = []
        for sandbox in [RoomSandbox.require, .off] {
            let slot = bench.slot { $0.sandbox = sandbox }
            let path = bench.folder.path("\(sandbox.rawValue)-\(name)")
            #expect(await SlotRun(try SlotWork(from: bench.clip, to: path), in: slot).isConverted)
            results.append(try Bytes.read(path))
            await slot.close()
        }
        #expect(!results[0].isEmpty)
        #expect(results[0] == results[1])
    }

    // MARK: - Settings

    @Test func limitsThatNoRoomCouldWorkWithAreRefused() {
        for change: @Sendable (inout RoomConfiguration) -> Void in [
            { $0.memoryLimitBytes = 1 << 20 }, { $0.cpuLimit = .milliseconds(1) }, { $0.outputLimitBytes = 0 },
        ] {
            var configuration = RoomConfiguration()
            change(&configuration)
            #expect(throws: RoomConfigurationError.self) { try configuration.validate() }
        }
    }
}
