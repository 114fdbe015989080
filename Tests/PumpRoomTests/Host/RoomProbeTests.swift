import Conversion
import Foundation
import TestSupport
import Testing

@testable import PumpRoom
@testable import RoomProgram

/// Probing files in a room.
@Suite(.timeLimit(.minutes(15))) struct RoomProbeTests {
    let bench: SlotBench

    init() throws { bench = try SlotBench() }

    private func describe(_ path: String, in slot: RoomSlot, scans: Bool = false) async throws -> RoomOutcome<
        SourceReport
    > {
        let file = try OpenFile.reading(path)
        return await slot.describe(file.descriptor, .init(nameHint: path, scans: scans))
    }

    @Test(arguments: [false, true]) func roomSaysWhatIsSaidHere(scans: Bool) async throws {
        let slot = bench.slot { $0.sandbox = .require }
        for name in ["a.flac", "a.mp3", "a.m4a", "a.opus"] {
            let path = bench.folder.path(name)
            try FFmpeg.encode(bench.clip, to: path, ["-metadata", "title=Ein Lied", "-metadata", "artist=\u{1B}[31mx"])
            let file = try OpenFile.reading(path)
            let here = try SourceProbe(nameHint: path).describe(file.descriptor, scanning: scans)
            guard case .done(let report, let cost) = try await describe(path, in: slot, scans: scans) else {
                Issue.record("\(name)")
                continue
            }
            #expect(report == here)
            #expect(report.scan == nil || scans)
            #expect(try #require(cost.peakBytes) > 0)
        }
        await slot.close()
    }

    @Test func roomMeasuresLoudnessWithinItsLock() async throws {
        let slot = bench.slot { $0.sandbox = .require }
        let path = bench.folder.path("a.flac")
        try FFmpeg.encode(bench.clip, to: path)
        let file = try OpenFile.reading(path)
        let here = try SourceProbe(nameHint: path).describe(file.descriptor, measuring: true)
        #expect(here.scan != nil && here.loudness != nil)
        let outcome = await slot.describe(file.descriptor, .init(nameHint: path, measuresLoudness: true))
        guard case .done(let report, _) = outcome else {
            Issue.record("it was not described")
            return
        }
        #expect(report == here)
        await slot.close()
    }

    @Test func roomFailsInTheWordsOfHere() async throws {
        let path = bench.folder.path("a.txt")
        try Bytes.write(Array("no sound".utf8), to: path)
        let file = try OpenFile.reading(path)
        let here = #expect(throws: Failure.self) { try SourceProbe(nameHint: path).describe(file.descriptor) }
        let slot = bench.slot()
        guard case .failed(let failure) = try await describe(path, in: slot) else {
            Issue.record("it was described")
            return
        }
        #expect(failure.failure == here)
        // Probes and conversions share a room.
        let room = slot.process
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        #expect(slot.process == room)
        await slot.close()
    }

    @Test func descriptionLargerThanAMessageIsShortenedAndSaysSo() async throws {
        let path = bench.folder.path("a.flac")
        let script = (0..<3_000).map { ["-metadata", "tag\($0)=\(String(repeating: "ä", count: 100))"] }.flatMap { $0 }
        try FFmpeg.encode(bench.clip, to: path, script)
        let slot = bench.slot()
        guard case .done(let report, _) = try await describe(path, in: slot) else {
            Issue.record("it was not described")
            return
        }
        #expect(report.tags.count > 100)
        #expect(report.tags.count < 3_000)
        #expect(report.tags.last?.name == "…")
        #expect(report.tags.last?.value.hasSuffix(" more") == true)
        await slot.close()
    }

    @Test func scanIsCancelled() async throws {
        let slot = bench.slot()
        let path = bench.endless
        let file = try OpenFile.reading(path)
        let (progress, moved) = AsyncStream<Void>.makeStream()
        let task = Task {
            await slot.describe(file.descriptor, .init(nameHint: path, scans: true)) { _ in moved.yield() }
        }
        for await _ in progress { break }
        task.cancel()
        guard case .failed(let failure) = await task.value else {
            Issue.record("it was not cancelled")
            return
        }
        #expect(failure.failure.code == "cancelled")
        #expect(!failure.isRoomDeath)
        await slot.close()
    }
}
