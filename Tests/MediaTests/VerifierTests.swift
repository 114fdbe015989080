import Conversion
import TestSupport
import Testing

@testable import Media

/// The verifier accepts exactly what was written.
@Suite struct VerifierTests {
    private let folder: TemporaryFolder
    private let wav: String

    init() throws {
        folder = try TemporaryFolder.create()
        wav = folder.path("source.wav")
        try WAVFile.write(Signal.noise(seed: 2, rate: 48_000, frames: 30_000, channels: 2).pcm(.s16), to: wav)
    }

    @Test(arguments: FormatRow.all) func everyOutputIsFoundToBeAsPlanned(row: FormatRow) throws {
        let format = AudioFormat(container: row.rule.container, codec: row.rule.codec)
        let outcome = try Converted.file(wav, to: folder.path("out"), as: format, verifies: true)
        let found = try #require(outcome.verified)
        #expect(found.frames == outcome.summary.decodedFrames)
        if row.rule.isLossless { #expect(found.digest == outcome.summary.digest) }
    }

    /// Resampling fills 32 bits. A 24-bit output keeps the upper ones.
    @Test(arguments: [Container.wav, .aiff, .caf, .flac, .wavpack, .m4a, .mka])
    func bitsThatAnOutputDoesNotKeepAreNotMissed(container: Container) throws {
        let codec: Codec? = container == .m4a ? .alac : nil
        let format = AudioFormat(container: container, codec: codec, sampleRateHz: 44_100, bitDepth: 24)
        let outcome = try Converted.file(wav, to: folder.path("out"), as: format, verifies: true)
        #expect(try #require(outcome.verified).digest == outcome.summary.digest)
    }

    /// Flips one bit of the sound, in the middle of the file.
    @Test(arguments: [Container.wav, .aiff, .caf, .flac, .wavpack, .m4a, .mka])
    func flippedBitIsFound(container: Container) throws {
        let codec: Codec? = container == .m4a ? .alac : nil
        let code = try codeAfter(container, codec) { path in
            var bytes = try Bytes.read(path)
            bytes[bytes.count / 2] ^= 0x10
            try Bytes.write(bytes, to: path)
        }
        #expect(code == .verifyMismatch)
    }

    @Test(arguments: FormatRow.all) func missingTailIsFound(row: FormatRow) throws {
        let code = try codeAfter(row.rule.container, row.rule.codec) { path in
            try Bytes.truncate(path, toFraction: 0.7)
        }
        #expect(code == .verifyMismatch)
    }

    /// An output of which nothing more is read is not a bad one.
    @Test func verifyingEndsWhenItIsStopped() throws {
        let long = folder.path("stopped.wav")
        try WAVFile.write(Signal.tone(440, rate: 44_100, frames: 44_100).pcm(.s16), to: long)
        let path = folder.path("stopped.flac")
        let outcome = try Converted.file(long, to: path, as: AudioFormat(container: .flac), verifies: true)
        let file = try OpenFile.reading(path)
        let descriptor = file.descriptor
        let stop = StopSignal()
        stop.stop()
        let error = #expect(throws: MediaError.self) {
            try Verifier.verify(
                descriptor: descriptor,
                format: outcome.format,
                against: outcome.summary,
                stop: stop,
                within: Budget(),
                since: .zero,
                report: { _ in }
            )
        }
        #expect(error?.code == .cancelled)
    }

    /// The verifier's pass has the same budget as the conversion, and ends at most a second after it.
    @Test func verifyingEndsAtItsBudget() throws {
        let long = folder.path("long.wav")
        try WAVFile.write(Signal.tone(440, rate: 44_100, frames: 44_100 * 20).pcm(.s16), to: long)
        let path = folder.path("long.flac")
        let outcome = try Converted.file(long, to: path, as: AudioFormat(container: .flac), verifies: true)
        let file = try OpenFile.reading(path)
        let descriptor = file.descriptor
        func error(_ budget: Budget, since cpuAtStart: Duration, _ report: (Int64) -> Void = { _ in }) -> MediaError? {
            #expect(throws: MediaError.self) {
                try Verifier.verify(
                    descriptor: descriptor,
                    format: outcome.format,
                    against: outcome.summary,
                    stop: StopSignal(),
                    within: budget,
                    since: cpuAtStart,
                    report: report
                )
            }
        }
        var told: [Int64] = []
        let decoded = error(Budget(decodedSeconds: 3), since: .zero) { told.append($0) }
        #expect(decoded?.code == .decodedSecondsExceeded && decoded?.stage == .finish)
        let frame: Int64 = try #require(decoded?.frame)
        #expect(frame >= 3 * 44_100 && frame <= 4 * 44_100)
        #expect(told.count >= 3 && told == told.sorted())
        // Time used earlier counts: this thread has already used some.
        let cpu = error(Budget(cpuSeconds: 1), since: BudgetWatch.now() - .seconds(2))
        #expect(cpu?.code == .cpuExceeded && cpu?.stage == .finish)
        #expect(try #require(cpu?.frame) < 44_100)
    }

    /// Converts, lets `change` modify the file, and returns the verifier's error code.
    private func codeAfter(
        _ container: Container,
        _ codec: Codec?,
        _ change: (String) throws -> Void
    ) throws -> FailureCode? {
        let path = folder.path("changed")
        let format = AudioFormat(container: container, codec: codec)
        let outcome = try Converted.file(wav, to: path, as: format, verifies: true)
        try change(path)
        let file = try OpenFile.reading(path)
        let descriptor = file.descriptor
        return Converted.code {
            try Verifier.verify(descriptor: descriptor, format: outcome.format, against: outcome.summary)
        }
    }
}
