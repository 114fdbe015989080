import Conversion
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Media

/// A reader that waits for its source uses no processor time and can be stopped.
@Suite struct WaitingTests {
    /// Reads a pipe on a separate thread.
    private final class Reading: Sendable {
        let stop = StopSignal()
        let ended = DispatchSemaphore(value: 0)
        private let state = Mutex<(thread: pthread_t?, frames: Int64, code: FailureCode?)>((nil, 0, nil))

        init(_ descriptor: Int32) {
            Thread.detachNewThread { [self] in
                state.withLock { $0.thread = pthread_self() }
                do {
                    let read = try ReadBack(descriptor: descriptor, options: .init(nameHint: "a.wav", stop: stop))
                    state.withLock { $0.frames = read.deliveredFrames }
                } catch {
                    state.withLock { $0.code = (error as? MediaError)?.code }
                }
                ended.signal()
            }
        }

        var frames: Int64 { state.withLock { $0.frames } }
        var code: FailureCode? { state.withLock { $0.code } }

        /// Processor time of the thread in nanoseconds. Valid only while it runs.
        var computed: UInt64 {
            state.withLock { state in
                var clock = clockid_t()
                var time = timespec()
                guard let thread = state.thread, pthread_getcpuclockid(thread, &clock) == 0,
                    clock_gettime(clock, &time) == 0
                else { return 0 }
                return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
            }
        }
    }

    private let sound = Signal.tone(440, rate: 8_000, frames: 20_000).pcm(.s16)

    /// The pipe holds nothing, half of the header, or part of the sound.
    @Test(arguments: [0, 20, 10_044]) func waitingForAPipeCostsNothingAndStops(bytesBefore: Int) throws {
        let pipe = try OpenPipe.open()
        let bytes = try WAVFile.bytes(sound)
        #expect(write(pipe.writing, bytes, bytesBefore) == bytesBefore)
        let reading = Reading(pipe.reading)
        // The read must not end while the writer is open. The test waits this long to see that it does not.
        #expect(reading.ended.wait(timeout: .now() + .milliseconds(200)) == .timedOut)
        let before = reading.computed
        // The time over which its use of the processor is measured.
        #expect(reading.ended.wait(timeout: .now() + .milliseconds(500)) == .timedOut)
        let spent = reading.computed - before
        #expect(spent < 50_000_000, "\(spent) ns of 500 ms")
        reading.stop.stop()
        reading.ended.wait()
        #expect(reading.code == .cancelled)
    }

    @Test func soundThatComesLateIsReadWhole() throws {
        let pipe = try OpenPipe.open()
        let bytes = try WAVFile.bytes(sound)
        let reading = Reading(pipe.reading)
        for start in stride(from: 0, to: bytes.count, by: 7_001) {
            let part = Array(bytes[start..<min(start + 7_001, bytes.count)])
            #expect(write(pipe.writing, part, part.count) == part.count)
            var left: Int32 = 1
            // Waits until the reader has consumed the bytes. The kernel sends no event when a pipe becomes empty.
            while left > 0, ioctl(pipe.reading, UInt(FIONREAD), &left) == 0 { sched_yield() }
        }
        pipe.closeWriting()
        reading.ended.wait()
        #expect(reading.frames == 20_000 && reading.code == nil)
    }

    @Test func stoppedReaderSaysSoAtOnce() throws {
        let pipe = try FilledPipe.holding(WAVFile.bytes(sound))
        let stop = StopSignal()
        stop.stop()
        let error = #expect(throws: MediaError.self) {
            try ReadBack(descriptor: pipe.reading, options: .init(stop: stop))
        }
        #expect(error?.code == .cancelled)
    }
}
