import Conversion
import Foundation
import TestSupport
import Testing

@testable import PumpRoom

/// Files of many formats with bits flipped by zzuf. A room converts each file or says what is wrong with it, with
/// the same result in three runs. `make fuzz-files` uses more files.
@Suite struct CorruptionTests {
    /// The most common formats come first, and get more files.
    private static let formats = [
        "mp3 -c:a libmp3lame", "flac -c:a flac", "ogg -c:a libvorbis", "opus -c:a libopus", "m4a -c:a aac",
        "m4a -c:a alac",
        "caf -c:a alac", "wav -c:a pcm_s16le", "wv -c:a wavpack", "mka -c:a flac", "ts -c:a aac", "wma -c:a wmav2",
        "ogg -c:a libspeex -ar 16000 -ac 1", "voc -c:a pcm_s16le", "flv -c:a aac", "avi -c:a ac3",
        "ircam -c:a pcm_s16le",
        "sox -c:a pcm_s32le", "rm -c:a real_144 -ar 8000 -ac 1", "thd -c:a truehd -strict -2 -ar 48000",
        "mlp -c:a mlp -strict -2 -ar 48000", "vob -c:a ac3 -ar 48000", "mmf -c:a adpcm_yamaha -ar 22050 -ac 1",
    ]

    /// The formats above, then formats that only SoX or no program writes.
    private func sources(_ tone: String) throws -> [String] {
        var paths: [String] = []
        for (number, format) in Self.formats.enumerated() {
            let words = format.split(separator: " ").map(String.init)
            let exact = ["-fflags", "+bitexact", "-flags:a", "+bitexact"]
            paths.append(bench.folder.path("\(number).\(words[0])"))
            try FFmpeg.encode(tone, to: paths[number], exact + words.dropFirst())
        }
        paths.append(bench.folder.path("a.sph"))
        try Run.program("sox", ["-D", tone, paths.last!]).checked()
        for (name, bytes) in RareFile.short {
            paths.append(bench.folder.path(name))
            try Bytes.write(bytes, to: paths.last!)
        }
        return paths
    }

    private static let fileCount = ProcessInfo.processInfo.environment["SLUICE_FUZZ_FILES"].flatMap { Int($0) } ?? 600

    private let bench: SlotBench

    init() throws { bench = try SlotBench() }

    /// The share of flipped bits, from one in ten thousand to one in fifty.
    private static let rates = ["0.0001", "0.0005", "0.002", "0.008", "0.02"]

    private func corrupt(_ path: String, seed: Int, into target: String) throws {
        let rate = Self.rates[seed % Self.rates.count]
        let intact = Data(try Bytes.read(path))
        let run = try Run.program("zzuf", ["-s", "\(seed)", "-r", rate], input: .data(intact), keepsLoaded: true)
        try Bytes.write([UInt8](run.checked().stdout), to: target)
    }

    /// The result of converting a file, as a line that does not vary between runs.
    private func verdict(_ path: String, _ damage: DamageMode, _ slot: RoomSlot) async throws -> String {
        let work = try SlotWork(from: path, to: bench.folder.path("out.wav")) {
            $0.damage = damage
            $0.limits = .init(outputBytes: 256 << 20, decodedSeconds: 600, wallSeconds: 60, stallSeconds: 20)
        }
        switch await SlotRun(work, in: slot).outcome {
        case .done(let reports, _):
            let report = reports[0]
            return "converted \(report.writtenFrames) \(report.damage.frames) \(report.bytes)"
        case .handedBack: return "handed back"
        case .failed(let failure):
            #expect(!failure.isRoomDeath, "\(path): \(failure)")
            // A header may ask for more memory than this machine has; a larger machine might have it.
            let isExpected = failure.failure.kind == .permanent || failure.failure.code == "out_of_memory"
            #expect(isExpected, "\(path): \(failure)")
            let failure = failure.failure
            return "\(failure.code) \(failure.stage) \(failure.frame ?? -1) \(failure.libavName ?? "-")"
        }
    }

    @Test(.timeLimit(.minutes(30))) func everyCorruptFileHasAnAnswerAndTheSameOneInThreeRuns() async throws {
        let tone = bench.folder.path("tone.wav")
        try WAVFile.write(Signal.tone(440, rate: 44_100, frames: 44_100, channels: 2).pcm(.s16), to: tone)
        // Each run has its own room, so each file follows a different neighbour.
        let slots = (0..<3).map { _ in bench.slot { $0.sandbox = .require } }
        // The number of files for each code; none of them may be "unexpected".
        var counts: [String: Int] = [:]
        let paths = try sources(tone)
        for (number, path) in paths.enumerated() {
            let name = path.split(separator: "/").last!
            for seed in 0..<(Self.fileCount / (number < 12 ? 12 : 50)) {
                let corrupt = bench.folder.path("corrupt." + name.split(separator: ".").last!)
                try self.corrupt(path, seed: seed, into: corrupt)
                let damage: DamageMode = [.conceal, .strict, .skip][seed % 3]
                let first = try await verdict(corrupt, damage, slots[0])
                for slot in slots.dropFirst() {
                    let again = try await verdict(corrupt, damage, slot)
                    #expect(first == again, "\(name), seed \(seed), \(damage)")
                }
                counts[String(first.prefix { $0 != " " }), default: 0] += 1
            }
        }
        #expect(counts["unexpected"] == nil && counts["handed"] == nil, "\(counts)")
        // Some files convert and some fail, which shows that they are really damaged.
        #expect((counts["converted"] ?? 0) > Self.fileCount / 4, "\(counts)")
        #expect(counts.count > 3, "\(counts)")
        for slot in slots { await slot.close() }
    }
}
