import Conversion
import Foundation
import TestSupport
import Testing

@testable import PumpRoom

/// Files of twelve formats with bits turned over by zzuf: a room makes sound of each or says what is wrong, and says the same
/// of it in three runs. `make fuzz-files` takes more of them.
@Suite struct CorruptionTests {
    private static let formats = [
        "mp3 -c:a libmp3lame", "flac -c:a flac", "ogg -c:a libvorbis", "opus -c:a libopus", "m4a -c:a aac",
        "m4a -c:a alac",
        "caf -c:a alac", "wav -c:a pcm_s16le", "wv -c:a wavpack", "mka -c:a flac", "ts -c:a aac", "wma -c:a wmav2",
    ]

    private static let fileCount = ProcessInfo.processInfo.environment["SLUICE_FUZZ_FILES"].flatMap { Int($0) } ?? 3_000

    private let bench: SlotBench

    init() throws { bench = try SlotBench() }

    /// From one bit in ten thousand to one in fifty.
    private static let rates = ["0.0001", "0.0005", "0.002", "0.008", "0.02"]

    private func corrupt(_ path: String, seed: Int, into target: String) throws {
        let rate = Self.rates[seed % Self.rates.count]
        let script = "zzuf -s \"$1\" -r \"$2\" < \"$3\" > \"$4\""
        try Run.program("sh", ["-c", script, "sh", "\(seed)", rate, path, target]).checked()
    }

    /// What a room makes of a file, in a line that is the same every time.
    private func verdict(_ path: String, _ damage: DamageMode, _ slot: RoomSlot) async throws -> String {
        let work = try SlotWork(from: path, to: bench.folder.path("out.wav")) {
            $0.damage = damage
            $0.limits = .init(outputBytes: 256 << 20, decodedSeconds: 600, wallSeconds: 60, stallSeconds: 20)
        }
        switch await SlotRun(work, in: slot).outcome {
        case .converted(let report, _):
            return "converted \(report.writtenFrames) \(report.damage.frames) \(report.bytes)"
        case .handedBack: return "handed back"
        case .failed(let failure):
            #expect(!failure.isRoomDeath, "\(path): \(failure)")
            // A header may ask for more memory than there is, which a larger machine might have.
            let isExpected = failure.failure.kind == .permanent || failure.failure.code == "out_of_memory"
            #expect(isExpected, "\(path): \(failure)")
            let failure = failure.failure
            return "\(failure.code) \(failure.stage) \(failure.frame ?? -1) \(failure.libavName ?? "-")"
        }
    }

    @Test(.timeLimit(.minutes(30))) func everyCorruptFileHasAnAnswerAndTheSameOneInThreeRuns() async throws {
        let tone = bench.folder.path("tone.wav")
        try WAVFile.write(Signal.tone(440, rate: 44_100, frames: 44_100, channels: 2).pcm(.s16), to: tone)
        // A run has a room of its own, and so each file another neighbour before it.
        let slots = (0..<3).map { _ in bench.slot { $0.sandbox = .require } }
        // Every outcome with its own code, and none of them "unexpected".
        var counts: [String: Int] = [:]
        for (number, format) in Self.formats.enumerated() {
            let words = format.split(separator: " ").map(String.init)
            let path = bench.folder.path("\(number).\(words[0])")
            let exact = ["-fflags", "+bitexact", "-flags:a", "+bitexact"]
            try FFmpeg.encode(tone, to: path, exact + words.dropFirst())
            for seed in 0..<(Self.fileCount / Self.formats.count) {
                let corrupt = bench.folder.path("corrupt.\(words[0])")
                try self.corrupt(path, seed: seed, into: corrupt)
                let damage: DamageMode = [.conceal, .strict, .skip][seed % 3]
                let first = try await verdict(corrupt, damage, slots[0])
                for slot in slots.dropFirst() {
                    let again = try await verdict(corrupt, damage, slot)
                    #expect(first == again, "\(format), seed \(seed), \(damage)")
                }
                counts[String(first.prefix { $0 != " " }), default: 0] += 1
            }
        }
        #expect(counts["unexpected"] == nil && counts["handed"] == nil, "\(counts)")
        // Neither is all lost, nor does all survive: the files are really damaged.
        #expect((counts["converted"] ?? 0) > Self.fileCount / 4, "\(counts)")
        #expect(counts.count > 3, "\(counts)")
        for slot in slots { await slot.close() }
    }
}
