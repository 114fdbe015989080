import Conversion
import Foundation
import TestSupport
import Testing

@testable import PumpRoom

/// Every budget ends its job within a second of being used up. The tests check the job's own figures (what it had
/// decoded, written or used when it ended), because the wall clock of a busy machine proves nothing.
@Suite(.timeLimit(.minutes(15))) struct BudgetEndTests {
    private let bench: SlotBench
    /// The sample rate of `endless`, in Hz.
    private let rate: Int64 = 44_100

    init() throws { bench = try SlotBench() }

    private func failure(
        _ limits: Recipe.Limits,
        to name: String = "out.wav",
        from source: String? = nil,
        signal: Int32? = nil,
        _ change: (inout Recipe) -> Void = { _ in }
    ) async throws -> RoomFailure {
        let slot = bench.slot { $0.sandbox = .require }
        let work = try SlotWork(from: source ?? bench.endless, to: bench.folder.path(name)) {
            $0.limits = limits
            change(&$0)
        }
        let failure = await SlotRun(work, in: slot, signal: signal).failure
        await slot.close()
        return try #require(failure)
    }

    private func scanFailure(_ limits: Recipe.Limits, signal: Int32? = nil) async throws -> RoomFailure {
        let slot = bench.slot { $0.sandbox = .require }
        let file = try OpenFile.reading(bench.endless)
        let options = ProbeOptions(nameHint: bench.endless, scans: true, limits: limits)
        let outcome = await slot.describe(file.descriptor, options) { _ in
            if let signal, let room = slot.process { kill(-room, signal) }
        }
        await slot.close()
        guard case .failed(let failure) = outcome else { throw SupportError("exceed \(limits)", "\(outcome)") }
        return failure
    }

    /// The decoder had delivered at most one second of sound beyond the limit.
    private func expectDecoded(_ failure: RoomFailure, seconds: Int64) throws {
        #expect(failure.failure.code == "decoded_seconds_exceeded" && !failure.isRoomDeath)
        let frame = try #require(failure.failure.frame)
        #expect((seconds * rate...(seconds + 1) * rate).contains(frame), "\(failure)")
    }

    private func expectUsed(_ failure: RoomFailure, seconds: Int) throws {
        #expect(failure.failure.code == "cpu_seconds_exceeded" && !failure.isRoomDeath)
        let cpu = try #require(failure.cost.cpu)
        // The job's cost includes the room's other thread, so it can only be higher.
        #expect(cpu >= .seconds(seconds) && cpu <= .seconds(seconds + 1), "\(failure)")
    }

    @Test func decodedSeconds() async throws {
        try expectDecoded(await failure(.init(decodedSeconds: 3)), seconds: 3)
        try expectDecoded(await scanFailure(.init(decodedSeconds: 3)), seconds: 3)
    }

    @Test func processorSeconds() async throws {
        try expectUsed(await failure(.init(cpuSeconds: 1), to: "out.opus"), seconds: 1)
        try expectUsed(await scanFailure(.init(cpuSeconds: 1)), seconds: 1)
    }

    @Test func outputBytes() async throws {
        let limit: Int64 = 8 << 20
        let failure = try await failure(.init(outputBytes: limit))
        #expect(failure.failure.code == "output_bytes_exceeded")
        // Four bytes a frame.
        let written = try #require(failure.failure.frame) * 4
        #expect(written >= limit - rate * 4 && written <= limit + rate * 4, "\(failure)")
    }

    @Test func expansion() async throws {
        let path = bench.folder.path("silence.flac")
        try FFmpeg.run(["-f", "lavfi", "-i", "anullsrc=r=192000:cl=7.1", "-t", "120", path])
        let allowed: Int64 = (256 << 20) / (8 * 2)
        let failure = try await failure(.init(expansionRatio: 1), from: path)
        #expect(failure.failure.code == "expansion_exceeded")
        let frame = try #require(failure.failure.frame)
        #expect((allowed...allowed + 192_000).contains(frame), "\(failure)")
        let slot = bench.slot { $0.sandbox = .require }
        let file = try OpenFile.reading(path)
        let outcome = await slot.describe(file.descriptor, .init(scans: true, limits: .init(expansionRatio: 1)))
        guard case .failed(let scan) = outcome else { throw SupportError("exceed a ratio", "\(outcome)") }
        #expect(scan.failure.code == "expansion_exceeded")
        await slot.close()
    }

    /// The limit counts what 8 kB become, and ends the job before that is computed: a block of this source may last for
    /// minutes.
    @Test func expansionByResampling() async throws {
        let path = bench.folder.path("slow.wav")
        try WAVFile.write(Signal.noise(seed: 4, rate: 4, frames: 4_096).pcm(.s16), to: path)
        let failure = try await failure(.init(), from: path) {
            $0.outputs[0].format = AudioFormat(
                container: .wav,
                sampleRateHz: 192_000,
                bitDepth: 64,
                sampleKind: .float
            )
            $0.limits = nil
        }
        #expect(failure.failure.code == "expansion_exceeded" && !failure.isRoomDeath, "\(failure)")
        #expect(try Bytes.size(of: bench.folder.path("out.wav")) < 300 << 20)
    }

    /// `elapsed` is the time that the slot counts, which it does only while it watches.
    @Test func wallSeconds() async throws {
        for failure in [try await failure(.init(wallSeconds: 2)), try await scanFailure(.init(wallSeconds: 2))] {
            #expect(failure.failure.code == "deadline_exceeded" && !failure.isRoomDeath)
            #expect(failure.elapsed > .seconds(2) && failure.elapsed <= .seconds(3), "\(failure)")
        }
    }

    @Test func stallSeconds() async throws {
        let failures = [
            try await failure(.init(stallSeconds: 2), signal: SIGSTOP),
            try await scanFailure(.init(stallSeconds: 2), signal: SIGSTOP),
        ]
        for failure in failures {
            #expect(failure.failure.code == "room_stalled" && failure.isRoomDeath)
            #expect(failure.quiet > .seconds(2) && failure.quiet <= .seconds(3), "\(failure)")
        }
    }

    /// Verifying counts as progress, too, and can stall.
    @Test func verifyingIsWatchedLikeConverting() async throws {
        let path = bench.folder.path("long.wav")
        try WAVFile.write(Signal.tone(440, rate: 44_100, frames: 44_100 * 240, channels: 2).pcm(.s16), to: path)
        let slot = bench.slot { $0.sandbox = .require }
        let work = try SlotWork(from: path, to: bench.folder.path("verified.flac")) {
            $0.verify = true
            $0.limits = .init(stallSeconds: 2)
        }
        let outcome = await slot.run(work.room) { progress in
            if let verified = progress.verifiedFrames, verified > 44_100, let room = slot.process {
                ProcessFacts.stop(group: room)
            }
        }
        await slot.close()
        guard case .failed(let failure) = outcome else { throw SupportError("stall", "\(outcome)") }
        #expect(failure.failure.code == "room_stalled")
        #expect(failure.quiet > .seconds(2) && failure.quiet <= .seconds(3), "\(failure)")
        // The whole source had been read.
        #expect(failure.frames == rate * 240)
    }
}
