import Conversion
import TestSupport
import Testing
import System

@testable import Media

@Suite(.timeLimit(.minutes(30))) struct AsyncWriterTests {
    private let folder: TemporaryFolder
    private let pcm = Signal.sweep(rate: 48_000, frames: 50_001, channels: 2).pcm(.s16)

    init() throws { folder = try TemporaryFolder.create() }

    private func resolved(_ container: Container, _ codec: Codec? = nil) throws -> ResolvedFormat {
        try AudioFormat(container: container, codec: codec).resolved(
            for: AudioShape(
                sampleRateHz: 48_000,
                channelCount: 2,
                bitDepth: 16,
                codecName: "pcm_s16le",
                isLossless: true
            )
        )
    }

    /// A block larger than all buffers on the way to the file.
    private func largeBlock() throws -> PCMBlock {
        try PCMBlock([Int16](repeating: 1, count: 400_000), sampleRateHz: 48_000, channelCount: 2)
    }

    @Test(arguments: [Container.wav, .flac, .mp3, .ogg])
    func theOutputIsThatOfTheSynchronousPath(container: Container) async throws {
        let source = folder.path("source.wav")
        try WAVFile.write(pcm, to: source)
        let format = try resolved(container)
        let file = try OpenFile.reading(source)
        let asynchronous = try OpenFile.creating(folder.path("asynchronous"))
        let writer = try AsyncWriter(descriptor: asynchronous.descriptor, format: format)
        for try await block in try await AsyncReader(descriptor: file.descriptor).blocks(framesPerBlock: 777) {
            try await writer.append(block)
        }
        let summary = try await writer.finish()
        #expect(summary.writtenFrames == 50_001)

        let synchronous = try OpenFile.creating(folder.path("synchronous"))
        let plain = try Writer(descriptor: synchronous.descriptor, format: format)
        let reader = try Reader(descriptor: file.descriptor)
        try Pump(from: reader.samples(of: reader.track()), to: plain.samples()).run()
        #expect(try plain.finish().bytes == summary.bytes)
        #expect(try Bytes.read(folder.path("asynchronous")) == Bytes.read(folder.path("synchronous")))
    }

    @Test func samplesMadeByHandAreWrittenAsTheyAre() async throws {
        let path = folder.path("made.wav")
        let file = try OpenFile.creating(path)
        let writer = try AsyncWriter(descriptor: file.descriptor, format: resolved(.wav))
        for block in try pcm.blocks(of: 5000) { try await writer.append(block) }
        try await writer.append(try PCMBlock([Int16](), sampleRateHz: 48_000, channelCount: 2))
        #expect(try await writer.finish().writtenFrames == 50_001)
        #expect(try FFmpeg.decode(path).bytes == pcm.bytes)
    }

    // MARK: Back-pressure

    @Test func aFullWriterSaysSoAndTakesNothing() async throws {
        let file = try OpenFile.creating(folder.path("full.wav"))
        let writer = try AsyncWriter(descriptor: file.descriptor, format: resolved(.wav), capacity: 3)
        let blocks = try pcm.blocks(of: 1000)
        writer.actor.executor.suspend()
        let answers = try blocks.prefix(10).map { try writer.appendImmediately($0) }
        #expect(answers == [true, true, true] + [Bool](repeating: false, count: 7))
        writer.actor.executor.resume()
        #expect(try await writer.finish().writtenFrames == 3000)
    }

    @Test func anAppendWaitsForRoomWithoutAThread() async throws {
        let path = folder.path("slow.wav")
        let file = try OpenFile.creating(path)
        let writer = try AsyncWriter(descriptor: file.descriptor, format: resolved(.wav), capacity: 2)
        let blocks = try pcm.blocks(of: 1000)
        writer.actor.executor.suspend()
        let producer = Task { for block in blocks { try await writer.append(block) } }
        try await until { writer.queue.waiterCount == 1 }
        #expect(writer.queue.mostBlocks == 2)
        #expect(try writer.appendImmediately(blocks[0]) == false)
        writer.actor.executor.resume()
        try await producer.value
        #expect(try await writer.finish().writtenFrames == 50_001)
        #expect(writer.queue.mostBlocks == 2)
        #expect(try FFmpeg.decode(path).bytes == pcm.bytes)
    }

    @Test func finishTakesInTheAppendsThatWait() async throws {
        let file = try OpenFile.creating(folder.path("late.wav"))
        let writer = try AsyncWriter(descriptor: file.descriptor, format: resolved(.wav), capacity: 1)
        let block = try pcm.blocks(of: 1000)[0]
        writer.actor.executor.suspend()
        let producers = (0..<5).map { _ in Task { try await writer.append(block) } }
        try await until { writer.queue.waiterCount == 4 }
        async let summary = writer.finish()
        writer.actor.executor.resume()
        #expect(try await summary.writtenFrames == 5000)
        for producer in producers { try await producer.value }
    }

    // MARK: Failure

    @Test func aFailedWriterThrowsAtEveryCallAndNeverSaysNotReady() async throws {
        let file = try MemoryFile.sealed(size: 0)
        let writer = try AsyncWriter(descriptor: file.descriptor, format: resolved(.wav), capacity: 2)
        let block = try pcm.blocks(of: 1000)[0]
        let first = await #expect(throws: MediaError.self) {
            // Far more than all buffers on the way to the file hold.
            for _ in 0..<1000 { try await writer.append(block) }
        }
        #expect(first?.code == .destinationIO && first?.libavName == "EPERM")
        let second = #expect(throws: MediaError.self) { try writer.appendImmediately(block) }
        let third = await #expect(throws: MediaError.self) { try await writer.append(block) }
        let last = await #expect(throws: MediaError.self) { try await writer.finish() }
        #expect([second, third, last] == [first, first, first])
    }

    @Test func anAppendThatWaitsLearnsOfTheFailure() async throws {
        let file = try MemoryFile.sealed(size: 0)
        let writer = try AsyncWriter(descriptor: file.descriptor, format: resolved(.wav), capacity: 1)
        let block = try largeBlock()
        writer.actor.executor.suspend()
        #expect(try writer.appendImmediately(block))
        let waiting = (0..<3).map { _ in Task { try await writer.append(block) } }
        try await until { writer.queue.waiterCount == 3 }
        writer.actor.executor.resume()
        // The first append was accepted before the failure. Its caller sees the failure at the next call.
        var failures: [FailureCode] = []
        for task in waiting {
            do { try await task.value } catch let error as MediaError { failures.append(error.code) }
        }
        #expect(failures == [.destinationIO, .destinationIO])
        await #expect(throws: MediaError.self) { try await writer.finish() }
    }

    @Test func aFailureAtTheVeryEndIsThrownByFinish() async throws {
        let file = try MemoryFile.sealed(size: 0)
        let writer = try AsyncWriter(descriptor: file.descriptor, format: resolved(.wav))
        try await writer.append(pcm.blocks(of: 1000)[0])
        let problem = await #expect(throws: MediaError.self) { try await writer.finish() }
        #expect(problem?.code == .destinationIO)
    }

    @Test func finishComesOnce() async throws {
        let file = try OpenFile.creating(folder.path("once.wav"))
        let writer = try AsyncWriter(descriptor: file.descriptor, format: resolved(.wav))
        #expect(try await writer.finish().writtenFrames == 0)
        let again = await #expect(throws: MediaError.self) { try await writer.finish() }
        let late = await #expect(throws: MediaError.self) { try await writer.append(pcm.blocks(of: 10)[0]) }
        #expect(again?.code == .alreadyFinished && late?.code == .alreadyFinished)
    }

    @Test func blocksThatAreNoSoundAreRefused() throws {
        let shape = SampleShape(format: .s16, sampleRateHz: 48_000, channelCount: 2, channelMask: 0)
        var planar = shape
        planar.format = .s16Planar
        var silent = shape
        silent.channelCount = 0
        #expect(throws: MediaError.self) { try PCMBlock(shape: shape, bytes: [1, 2, 3]) }
        #expect(throws: MediaError.self) { try PCMBlock(shape: planar, bytes: []) }
        #expect(throws: MediaError.self) { try PCMBlock(shape: silent, bytes: []) }
        #expect(try PCMBlock(shape: shape, bytes: [1, 0, 2, 0]).samples(as: Int16.self) == [1, 2])
        #expect(try PCMBlock(shape: shape, bytes: [1, 0, 2, 0]).samples(as: Float.self) == nil)
    }

    // MARK: Ending early

    @Test func cancellingAWaitingAppendEndsTheWriter() async throws {
        let file = try OpenFile.creating(folder.path("cancelled.wav"))
        let stop = StopSignal()
        let writer = try AsyncWriter(descriptor: file.descriptor, format: resolved(.wav), capacity: 1, stop: stop)
        let block = try pcm.blocks(of: 1000)[0]
        writer.actor.executor.suspend()
        #expect(try writer.appendImmediately(block))
        let waiting = Task { try await writer.append(block) }
        let other = Task { try await writer.append(block) }
        try await until { writer.queue.waiterCount == 2 }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        writer.actor.executor.resume()
        #expect(stop.isStopped)
        let beside = await #expect(throws: MediaError.self) { try await other.value }
        let later = #expect(throws: MediaError.self) { try writer.appendImmediately(block) }
        let last = await #expect(throws: MediaError.self) { try await writer.finish() }
        let codes: [FailureCode?] = [beside, later, last].map { $0?.code }
        #expect(codes == [.cancelled, .cancelled, .cancelled])
    }

    @Test func cancellingFinishLeavesNoOutput() async throws {
        let file = try OpenFile.creating(folder.path("unfinished.wav"))
        let writer = try AsyncWriter(descriptor: file.descriptor, format: resolved(.wav))
        try await writer.append(pcm.blocks(of: 1000)[0])
        writer.actor.executor.suspend()
        let finishing = Task { try await writer.finish() }
        finishing.cancel()
        writer.actor.executor.resume()
        await #expect(throws: CancellationError.self) { try await finishing.value }
        let problem = await #expect(throws: MediaError.self) { try await writer.finish() }
        #expect(problem?.code == .cancelled)
    }

    @Test func aCancelledTaskAppendsNothing() async throws {
        let file = try OpenFile.creating(folder.path("never.wav"))
        let writer = try AsyncWriter(descriptor: file.descriptor, format: resolved(.wav))
        let block = try pcm.blocks(of: 1000)[0]
        let appending = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await writer.append(block)
        }
        await #expect(throws: CancellationError.self) { try await appending.value }
        #expect(writer.queue.mostBlocks == 0)
    }

    @Test func aDroppedWriterLetsGoOfTheFile() async throws {
        let path = folder.path("dropped.wav")
        let executor: QueueExecutor
        do {
            let file = try OpenFile.creating(path)
            let writer = try AsyncWriter(descriptor: file.descriptor, format: resolved(.wav), capacity: 2)
            executor = writer.actor.executor
            executor.suspend()
            let block = try largeBlock()
            #expect(try writer.appendImmediately(block) && writer.appendImmediately(block))
            #expect(try Descriptors.count(of: path) == 2)
        }
        executor.resume()
        await executor.settle()
        #expect(try Descriptors.count(of: path) == 0)
        #expect(try Bytes.size(of: path) == 0)
    }
}
