import Conversion
import Foundation
import TestSupport
import Testing

@testable import PumpRoom

/// Small files that expand to very long or large sound: each job ends with the error of a named
/// limit, and its room goes on.
@Suite(.timeLimit(.minutes(30))) struct BudgetTests {
    let bench: SlotBench

    init() throws { bench = try SlotBench() }

    /// The result of converting `path`, and how long that took. Checks that the room survives.
    private func outcome(
        _ path: String,
        to name: String = "out.flac",
        _ limits: Recipe.Limits? = nil,
        damage: DamageMode = .strict,
        _ change: (inout RoomConfiguration) -> Void = { _ in }
    ) async throws -> (code: String, took: Duration) {
        let slot = bench.slot {
            $0.sandbox = .require
            change(&$0)
        }
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        let room = slot.process
        let work = try SlotWork(from: path, to: bench.folder.path(name)) {
            $0.limits = limits
            $0.damage = damage
        }
        let start = ContinuousClock.now
        let outcome = await SlotRun(work, in: slot).outcome
        let took = ContinuousClock.now - start
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        #expect(slot.process == room, "\(outcome)")
        await slot.close()
        guard case .failed(let failure) = outcome else { return ("converted", took) }
        #expect(!failure.isRoomDeath)
        return (failure.failure.code, took)
    }

    private func silence(_ name: String, _ arguments: String) throws -> String {
        let path = bench.folder.path(name)
        let words = arguments.split(separator: " ").map(String.init)
        try FFmpeg.run(["-f", "lavfi", "-i"] + words + [path])
        return path
    }

    @Test func recipeLimitsEndAJobByName() async throws {
        #expect(try await outcome(bench.endless, .init(outputBytes: 1 << 20)).code == "output_bytes_exceeded")
        #expect(try await outcome(bench.endless, .init(decodedSeconds: 3)).code == "decoded_seconds_exceeded")
        #expect(try await outcome(bench.endless, to: "a.opus", .init(cpuSeconds: 1)).code == "cpu_seconds_exceeded")
        #expect(try await outcome(bench.endless, .init(wallSeconds: 1)).code == "deadline_exceeded")
    }

    @Test func outputStaysWithinItsLimit() async throws {
        _ = try await outcome(bench.endless, to: "bounded.wav", .init(outputBytes: 1 << 20))
        #expect(try Bytes.size(of: bench.folder.path("bounded.wav")) < 2 << 20)
    }

    @Test func workerGivesNoRecipeMoreThanItHas() async throws {
        let wanted = Recipe.Limits(outputBytes: 1 << 50, decodedSeconds: 1 << 30)
        let result = try await outcome(bench.endless, wanted) { $0.highestLimits.decodedSeconds = 3 }
        #expect(result.code == "decoded_seconds_exceeded")
        let bytes = try await outcome(bench.endless, wanted) { $0.outputLimitBytes = 1 << 20 }
        #expect(bytes.code == "output_bytes_exceeded")
    }

    @Test func limitsAreTheLeastOfWhatWasSaid() {
        var configuration = RoomConfiguration()
        configuration.usualLimits = .init(decodedSeconds: 10, expansionRatio: 5)
        configuration.highestLimits = .init(decodedSeconds: 20)
        #expect(configuration.limits(for: nil).decodedSeconds == 10)
        #expect(configuration.limits(for: .init(decodedSeconds: 15)).decodedSeconds == 15)
        #expect(configuration.limits(for: .init(decodedSeconds: 30)).decodedSeconds == 20)
        #expect(configuration.limits(for: .init(expansionRatio: 7)).expansionRatio == 7)
        #expect(configuration.limits(for: .init(stallSeconds: 7)).stallSeconds == 7)
        #expect(configuration.limits(for: nil).outputBytes == configuration.outputLimitBytes)
    }

    // MARK: - Bombs, met with the usual limits

    @Test func silenceOfEightChannelsIsNotUnfoldedToTheEnd() async throws {
        let path = try silence("bomb.flac", "anullsrc=r=192000:cl=7.1 -t 300")
        #expect(try Bytes.size(of: path) < 1 << 20)
        #expect(try await outcome(path, to: "bomb.wav").code == "expansion_exceeded")
        #expect(try Bytes.size(of: bench.folder.path("bomb.wav")) < 300 << 20)
    }

    @Test func silenceAsOpusEndsAtItsLimit() async throws {
        // Twice the sound that any file may decode to at a ratio of 50, from less than two megabytes.
        let short = try silence("short.opus", "anullsrc=r=48000:cl=stereo -t 28 -b:a 6k")
        let (repeated, path) = (bench.folder.path("repeated.mka"), bench.folder.path("bomb.opus"))
        // To encode all of it takes 25 s, and to repeat its packets less than one. Their times become those of one stream.
        try FFmpeg.run(["-stream_loop", "99", "-i", short, "-c", "copy", repeated])
        try FFmpeg.encode(repeated, to: path, ["-c", "copy", "-bsf:a", "setts=ts=N*960-312:duration=960"])
        #expect(try Bytes.size(of: path) < 3 << 20)
        #expect(try await outcome(path, .init(expansionRatio: 50)).code == "expansion_exceeded")
        #expect(try await outcome(path, .init(decodedSeconds: 60)).code == "decoded_seconds_exceeded")
    }

    /// Headers that claim 2^60 or 2^62 bytes, or all that 32 bits hold, although the file has almost none of it.
    @Test(arguments: ["w64", "caf", "au", "wav"], [DamageMode.strict, .conceal])
    func claimedEternityIsNotFilledWithSilence(kind: String, damage: DamageMode) async throws {
        let path = bench.folder.path("claim.\(kind)")
        try FFmpeg.encode(bench.clip, to: path)
        var bytes = try Bytes.read(path)
        switch kind {
        case "w64":
            let place = try #require(Bytes.find("data", in: bytes)) + 16
            bytes.replaceSubrange(place..<(place + 8), with: [0, 0, 0, 0, 0, 0, 0, 0x10])
        case "caf":
            let place = try #require(Bytes.find("data", in: bytes)) + 4
            bytes.replaceSubrange(place..<(place + 8), with: [0x10, 0, 0, 0, 0, 0, 0, 0])
        case "au": bytes.replaceSubrange(8..<12, with: [0x7F, 0xFF, 0xFF, 0xFF])
        default:
            let place = try #require(Bytes.find("data", in: bytes)) + 4
            bytes.replaceSubrange(place..<(place + 4), with: [0xFE, 0xFF, 0xFF, 0x7F])
        }
        try Bytes.write(bytes, to: path)
        let result = try await outcome(path, .init(decodedSeconds: 60), damage: damage)
        let allowed = [
            "converted", "truncated", "decoded_seconds_exceeded", "unreadable_container", "corrupt_stream",
            "implausible_length",
        ]
        #expect(allowed.contains(result.code), "\(result.code)")
        #expect(result.took < .seconds(300), "\(result.took)")
        let written = try Bytes.size(of: bench.folder.path("out.flac"))
        #expect(written < 8 << 20)
    }

    @Test func coverOfTwoHundredMegabytesIsRefused() async throws {
        let path = bench.folder.path("cover.mp3")
        try FFmpeg.encode(bench.clip, to: path)
        let sound = try Bytes.read(path)
        let size = 200 << 20
        func synchsafe(_ number: Int) -> [UInt8] { [21, 14, 7, 0].map { UInt8(number >> $0 & 0x7F) } }
        let frame = Array("APIC".utf8) + synchsafe(size + 13) + [0, 0, 0] + Array("image/png".utf8) + [0, 3, 0]
        try Bytes.write(Array("ID3".utf8) + [4, 0, 0] + synchsafe(frame.count + size) + frame, to: path)
        try Bytes.overwrite(path, at: 10 + frame.count + size, with: sound)
        #expect(try await outcome(path).code == "metadata_too_large")
    }

    @Test func tenThousandStreamsAreRefused() async throws {
        let path = bench.folder.path("many.mov")
        try FFmpeg.encode(bench.clip, to: path)
        var bytes = try Bytes.read(path)
        // The index comes last and holds a box for each track. Repeat the one track ten thousand times.
        let index = try #require(Bytes.find("moov", in: bytes)) - 4
        let track = try #require(Bytes.find("trak", in: bytes, from: index)) - 4
        let size = bytes[track..<(track + 4)].reduce(0) { $0 << 8 | Int($1) }
        let box = Array(bytes[track..<(track + size)])
        bytes.insert(contentsOf: (1..<10_000).flatMap { _ in box }, at: track)
        let whole = UInt32(bytes[index..<(index + 4)].reduce(0) { $0 << 8 | Int($1) } + 9_999 * size)
        bytes.replaceSubrange(index..<(index + 4), with: [24, 16, 8, 0].map { UInt8(whole >> $0 & 0xFF) })
        try Bytes.write(bytes, to: path)
        let code = try await outcome(path).code
        #expect(code == "too_many_streams")
    }

    @Test func manyChannelsAtAHighRateAreSoundOrAnError() async throws {
        let path = bench.folder.path("wide.wav")
        let tone = Signal.tone(440, rate: 768_000, frames: 76_800, channels: 64)
        try WAVFile.write(tone.pcm(.s16), to: path)
        for name in ["out.wav", "out.flac", "out.mp3", "out.opus"] {
            let result = try await outcome(path, to: name, .init(wallSeconds: 20))
            #expect(
                ["converted", "format_refused", "resample_failed"].contains(result.code),
                "\(name): \(result.code)"
            )
        }
    }
}
