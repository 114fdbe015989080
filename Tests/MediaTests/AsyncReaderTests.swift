import Conversion
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Media

@Suite(.timeLimit(.minutes(30))) struct AsyncReaderTests {
    private let folder: TemporaryFolder
    private let pcm = Signal.noise(seed: 11, rate: 44_100, frames: 30_001, channels: 2).pcm(.s16)

    init() throws { folder = try TemporaryFolder.create() }

    private func written(_ pcm: PCM) throws -> OpenFile {
        let path = folder.path("source.wav")
        try WAVFile.write(pcm, to: path)
        return try OpenFile.reading(path)
    }

    @Test func everySampleComesOnceAndInOrder() async throws {
        let file = try written(pcm)
        let blocks = try await AsyncReader(descriptor: file.descriptor).blocks().collected()
        #expect(blocks.bytes == pcm.bytes)
        #expect(blocks.dropLast().allSatisfy { $0.frameCount == 4096 })
        #expect(blocks.last?.frameCount == 30_001 % 4096)
        let positions: [Int64] = blocks.indices.map { Int64($0 * 4096) }
        #expect(blocks.map(\.position) == positions)
    }

    /// MP3 decodes to planar floats, FLAC to integers. `ffmpeg` gives the reference for both.
    @Test(arguments: [("take.flac", PCM.SampleFormat.s16), ("take.mp3", .f32)])
    func decodedBlocksAreWhatAnotherReaderDecodes(name: String, format: PCM.SampleFormat) async throws {
        let path = folder.path(name)
        try FFmpeg.encode(pcm, to: path)
        let file = try OpenFile.reading(path)
        let blocks = try await AsyncReader(descriptor: file.descriptor).blocks(framesPerBlock: 1000).collected()
        #expect(try FFmpeg.decode(path, to: format).bytes == blocks.bytes)
        #expect(blocks.dropLast().allSatisfy { $0.frameCount == 1000 })
    }

    @Test func blocksEndWhereARangeEnds() async throws {
        let file = try written(pcm)
        let ranges = try [(0, 5000), (20_000, 21_000)].map { start, end in
            try MediaTimeRange(start: MediaTime(frames: start, rate: 44_100), end: MediaTime(frames: end, rate: 44_100))
        }
        let blocks = try await AsyncReader(descriptor: file.descriptor).blocks(ranges: ranges).collected()
        #expect(blocks.map(\.position) == [0, 4096, 20_000])
        #expect(blocks.map(\.frameCount) == [4096, 904, 1000])
        #expect(try blocks.bytes == pcm.cut(0..<5000).bytes + pcm.cut(20_000..<21_000).bytes)
    }

    @Test func aRangeBehindTheEndIsRefusedBeforeTheFirstBlock() async throws {
        let file = try written(pcm)
        let reader = try await AsyncReader(descriptor: file.descriptor)
        let range = try MediaTimeRange(
            start: MediaTime(frames: 40_000, rate: 44_100),
            end: MediaTime(frames: 41_000, rate: 44_100)
        )
        await #expect { try await reader.blocks(ranges: [range]) } throws: { error in
            (error as? MediaError)?.code == .rangeOutsideSource
        }
    }

    @Test func nothingIsDecodedBeforeItIsRequested() async throws {
        let file = try written(pcm)
        let blocks = try await AsyncReader(descriptor: file.descriptor).blocks(framesPerBlock: 100)
        #expect(await blocks.actor.decodedFrames == 0)
        var iterator = blocks.makeAsyncIterator()
        for taken in 1...20 {
            _ = try await iterator.next()
            // One packet of libav's WAV demuxer holds 64 KiB, which is about half of the source.
            let kept = await blocks.actor.decodedFrames - Int64(taken * 100)
            #expect((0..<65_536 / 4).contains(kept))
        }
    }

    @Test func twoReadersShareADescriptorAndAnUnreadOneBlocksNeither() async throws {
        let file = try written(pcm)
        let descriptor = file.descriptor
        let unread = try await AsyncReader(descriptor: descriptor).blocks()
        async let first = AsyncReader(descriptor: descriptor).blocks(framesPerBlock: 512).collected()
        async let second = AsyncReader(descriptor: descriptor).blocks(framesPerBlock: 700).collected()
        let both = try await (first.bytes, second.bytes)
        #expect(both.0 == pcm.bytes && both.1 == pcm.bytes)
        #expect(try await unread.collected().bytes == pcm.bytes)
    }

    @Test func readersThatWaitForBytesLeaveTheSharedThreadsFree() async throws {
        let pipes = try (0..<16).map { _ in try OpenPipe.open() }
        let file = try written(pcm)
        let descriptor = file.descriptor
        let expected = pcm.bytes
        let closing = ClosingPipes(pipes)
        await withTaskGroup(of: FailureCode?.self) { group in
            for pipe in pipes {
                group.addTask {
                    let problem = await #expect(throws: MediaError.self) {
                        try await AsyncReader(descriptor: pipe.reading)
                    }
                    return problem?.code
                }
            }
            do {
                // All sixteen readers are inside libav once it has consumed the bytes in their pipes.
                for pipe in pipes { #expect(write(pipe.writing, "RIFF", 4) == 4) }
                try await until { pipes.allSatisfy { unreadBytes($0.reading) == 0 } }
                #expect(try await AsyncReader(descriptor: descriptor).blocks().collected().bytes == expected)
            } catch {
                Issue.record(error)
            }
            closing.close()
            for await code in group { #expect(code != nil && code != .cancelled) }
        }
        #expect(!closing.cameTooLate)
    }

    @Test func aSequenceCutShortThrowsAndNeverSaysItIsComplete() async throws {
        let path = folder.path("cut.wav")
        try WAVFile.write(pcm, to: path)
        try Bytes.truncate(path, to: 44 + 10_000 * 4)
        let file = try OpenFile.reading(path)
        var iterator = try await AsyncReader(descriptor: file.descriptor).blocks().makeAsyncIterator()
        var bytes: [UInt8] = []
        for _ in 0..<3 { bytes += try await iterator.next()?.bytes ?? [] }
        #expect(try bytes == pcm.cut(0..<10_000).bytes)
        for _ in 0..<2 {
            let problem = await #expect(throws: MediaError.self) { try await iterator.next() }
            #expect(problem?.code == .truncated)
        }
    }

    @Test func damageThatIsBorneIsInTheAccount() async throws {
        let path = folder.path("cut.wav")
        try WAVFile.write(pcm, to: path)
        try Bytes.truncate(path, to: 44 + 10_000 * 4)
        let file = try OpenFile.reading(path)
        let reader = try await AsyncReader(descriptor: file.descriptor, options: .init(damage: .conceal))
        let blocks = try await reader.blocks()
        #expect(try await blocks.collected().reduce(0) { $0 + $1.frameCount } == pcm.frames)
        #expect(await blocks.damage.frames == Int64(pcm.frames - 10_000))
    }

    // MARK: Ending early

    @Test func cancellingATaskThatReadsRaisesTheSignalAndGivesCancellationError() async throws {
        let pipe = try OpenPipe.open()
        let stream = WAVFile.stream(frames: nil, to: pipe.takeWriting())
        let stop = StopSignal()
        let blocks = try await AsyncReader(descriptor: pipe.reading, options: .init(stop: stop)).blocks()
        let (arrivals, arrived) = AsyncStream.makeStream(of: Int.self)
        let task = Task { for try await block in blocks { arrived.yield(block.frameCount) } }
        for await frames in arrivals {
            #expect(frames == 4096)
            break
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(stop.isStopped)
        let problem = await #expect(throws: MediaError.self) { try await blocks.collected() }
        #expect(problem?.code == .cancelled)
        pipe.closeReading()
        try stream.finish()
    }

    @Test func cancellingATaskThatWaitsForBytesEndsTheWait() async throws {
        let pipe = try OpenPipe.open()
        let task = Task { _ = try await AsyncReader(descriptor: pipe.reading) }
        #expect(write(pipe.writing, "RIFF", 4) == 4)
        try await until { unreadBytes(pipe.reading) == 0 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func aSignalRaisedElsewhereGivesItsOwnCode() async throws {
        let pipe = try OpenPipe.open()
        let stop = StopSignal()
        let task = Task { _ = try await AsyncReader(descriptor: pipe.reading, options: .init(stop: stop)) }
        #expect(write(pipe.writing, "RIFF", 4) == 4)
        try await until { unreadBytes(pipe.reading) == 0 }
        stop.stop()
        let problem = await #expect(throws: MediaError.self) { try await task.value }
        #expect(problem?.code == .cancelled)
    }

    @Test func aSequenceDroppedEarlyFreesAllButTheDescriptor() async throws {
        let file = try written(pcm)
        let (readerActor, executor) = try await { [descriptor = file.descriptor] in
            let blocks = try await AsyncReader(descriptor: descriptor).blocks()
            var iterator = blocks.makeAsyncIterator()
            _ = try await iterator.next()
            return (Weak(blocks.actor), blocks.actor.executor)
        }()
        await executor.settle()
        #expect(readerActor.value == nil)
        #expect(try Descriptors.count(of: folder.path("source.wav")) == 1)
        #expect(try await AsyncReader(descriptor: file.descriptor).blocks().collected().bytes == pcm.bytes)
    }
}

/// A weak reference.
private struct Weak {
    weak let value: ReaderActor?

    init(_ value: ReaderActor) { self.value = value }
}

private func unreadBytes(_ descriptor: Int32) -> Int32 {
    var count: Int32 = -1
    _ = ioctl(descriptor, UInt(FIONREAD), &count)
    return count
}

/// Closes the pipes so that all their readers stop waiting; by itself after five minutes, if a test blocks all threads.
private final class ClosingPipes: Sendable {
    private let pipes: [OpenPipe]
    private let closed = DispatchSemaphore(value: 0)
    private let isLate = Mutex(false)

    init(_ pipes: [OpenPipe]) {
        self.pipes = pipes
        Thread.detachNewThread { [self] in
            guard closed.wait(timeout: .now() + 300) == .timedOut else { return }
            isLate.withLock { $0 = true }
            close()
        }
    }

    /// Whether the five minutes passed before the test closed the pipes.
    var cameTooLate: Bool { isLate.withLock { $0 } }

    func close() {
        for pipe in pipes { pipe.closeWriting() }
        closed.signal()
    }
}
