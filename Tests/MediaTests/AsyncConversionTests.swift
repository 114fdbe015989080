import Conversion
import TestSupport
import Testing

@testable import Media

@Suite(.timeLimit(.minutes(30))) struct AsyncConversionTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func source(seconds: Int) throws -> OpenFile {
        let path = folder.path("source.wav")
        try WAVFile.write(Signal.sweep(rate: 8000, frames: 8000 * seconds).pcm(.s16), to: path)
        return try OpenFile.reading(path)
    }

    @Test func theOutcomeIsThatOfTheSynchronousConverter() async throws {
        let input = try source(seconds: 3)
        let request = Converter.Request(format: AudioFormat(container: .flac), verifies: true)
        let first = try OpenFile.creating(folder.path("first.flac"))
        let conversion = AsyncConversion(request, from: input.descriptor, to: first.descriptor)
        #expect(conversion.state == .waiting)
        let outcome = try await conversion.run()
        #expect(conversion.state == .completed)
        let second = try OpenFile.creating(folder.path("second.flac"))
        #expect(try Converter(request).run(from: input.descriptor, to: second.descriptor) == outcome)
        #expect(try Bytes.read(folder.path("first.flac")) == Bytes.read(folder.path("second.flac")))
    }

    @Test func progressGrowsToTheWholeAndEnds() async throws {
        let input = try source(seconds: 30)
        let output = try OpenFile.creating(folder.path("out.flac"))
        let request = Converter.Request(format: AudioFormat(container: .flac))
        let conversion = AsyncConversion(request, from: input.descriptor, to: output.descriptor)
        async let outcome = conversion.run()
        var seen: [Double] = []
        for await progress in conversion.progress { seen.append(progress.fraction ?? -1) }
        _ = try await outcome
        #expect(seen == seen.sorted() && seen.last == 1)
    }

    @Test func unreadProgressDoesNotDelayTheConversion() async throws {
        let input = try source(seconds: 60)
        let output = try OpenFile.creating(folder.path("out.wav"))
        let request = Converter.Request(format: AudioFormat(container: .wav))
        let conversion = AsyncConversion(request, from: input.descriptor, to: output.descriptor)
        #expect(try await conversion.run().summary.writtenFrames == 480_000)
        // All but the newest report was dropped on the way.
        var kept = 0
        for await progress in conversion.progress {
            kept += 1
            #expect(progress.fraction == 1)
        }
        #expect(kept == 1)
    }

    @Test func twoConversionsRunAtOnce() async throws {
        let input = try source(seconds: 5)
        let lossless = try OpenFile.creating(folder.path("a.flac"))
        let lossy = try OpenFile.creating(folder.path("b.mp3"))
        let flac = AsyncConversion(
            .init(format: AudioFormat(container: .flac)),
            from: input.descriptor,
            to: lossless.descriptor
        )
        let mp3 = AsyncConversion(
            .init(format: AudioFormat(container: .mp3)),
            from: input.descriptor,
            to: lossy.descriptor
        )
        async let first = flac.run()
        async let second = mp3.run()
        let frames = try await [first.summary.writtenFrames, second.summary.writtenFrames]
        #expect(frames == [40_000, 40_000])
    }

    @Test func cancellingTheTaskEndsAConversionOfAnEndlessSource() async throws {
        let pipe = try OpenPipe.open()
        let stream = WAVFile.stream(frames: nil, rate: 8000, channels: 1, to: pipe.takeWriting())
        let output = try OpenFile.creating(folder.path("endless.wav"))
        let stop = StopSignal()
        let conversion = AsyncConversion(
            .init(format: AudioFormat(container: .wav)),
            from: pipe.reading,
            to: output.descriptor,
            stop: stop
        )
        let task = Task { try await conversion.run() }
        for await _ in conversion.progress { break }
        #expect(conversion.state == .converting)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(conversion.state == .cancelled && stop.isStopped)
        pipe.closeReading()
        try stream.finish()
    }

    @Test func cancelEndsItByItsOwnCode() async throws {
        let pipe = try OpenPipe.open()
        let output = try OpenFile.creating(folder.path("never.wav"))
        let request = Converter.Request(format: AudioFormat(container: .wav))
        let conversion = AsyncConversion(request, from: pipe.reading, to: output.descriptor)
        conversion.cancel()
        let problem = await #expect(throws: MediaError.self) { try await conversion.run() }
        #expect(problem?.code == .cancelled && conversion.state == .cancelled)
    }

    @Test func aFailureIsKeptInTheState() async throws {
        let path = folder.path("empty.wav")
        try Bytes.write([], to: path)
        let input = try OpenFile.reading(path)
        let output = try OpenFile.creating(folder.path("out.wav"))
        let request = Converter.Request(format: AudioFormat(container: .wav))
        let conversion = AsyncConversion(request, from: input.descriptor, to: output.descriptor)
        let problem = try #require(await #expect(throws: MediaError.self) { try await conversion.run() })
        #expect(problem.code == .emptyInput && conversion.state == .failed(problem))
        for await _ in conversion.progress { Issue.record("progress of a conversion that failed") }
    }

    @Test func aConversionRunsOnce() async throws {
        let input = try source(seconds: 1)
        let output = try OpenFile.creating(folder.path("out.wav"))
        let request = Converter.Request(format: AudioFormat(container: .wav))
        let conversion = AsyncConversion(request, from: input.descriptor, to: output.descriptor)
        _ = try await conversion.run()
        let problem = await #expect(throws: MediaError.self) { try await conversion.run() }
        #expect(problem?.code == .alreadyFinished && conversion.state == .completed)
    }

    @Test func progressOfAConversionThatNeverRanEnds() async throws {
        let progress = AsyncConversion(.init(format: AudioFormat(container: .wav)), from: -1, to: -1).progress
        for await _ in progress { Issue.record("progress of a conversion that never ran") }
    }
}
