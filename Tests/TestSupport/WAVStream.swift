import Foundation
import Synchronization

extension WAVFile {
    /// Starts writing a WAV of `frames` frames, endless if `nil`, to `descriptor` and closes that at the end.
    ///
    /// Memory stays the same however long it runs. The samples are `WAVStream.loop(...)` over and over. The
    /// header says 0xFFFFFFFF where the size does not fit 32 bits. A reader that goes away ends the stream.
    public static func stream(
        frames: Int?,
        rate: Int = 44_100,
        channels: Int = 2,
        format: PCM.SampleFormat = .s16,
        to descriptor: Int32
    ) -> WAVStream {
        WAVStream(frames: frames, rate: rate, channels: channels, format: format, descriptor: descriptor)
    }
}

/// A long WAV being written by a thread of its own.
public final class WAVStream: Sendable {
    private struct State {
        var framesWritten = 0
        var problem: SupportError?
    }

    private let state = Mutex(State())
    private let done = DispatchSemaphore(value: 0)

    fileprivate init(frames: Int?, rate: Int, channels: Int, format: PCM.SampleFormat, descriptor: Int32) {
        let header = WAVFile.header(rate: rate, channels: channels, format: format, frames: frames)
        let loop = Self.loop(rate: rate, channels: channels, format: format)
        Thread.detachNewThread { [self] in
            run(header: header, loop: loop, frames: frames, descriptor: descriptor)
        }
    }

    /// What is repeated: five seconds of sweep, each channel quieter than the one before.
    public static func loop(rate: Int, channels: Int, format: PCM.SampleFormat) -> PCM {
        let sweep = Signal.sweep(rate: rate, frames: 5 * rate, amplitude: 0.5)
        return Signal.stacked((1...channels).map { sweep.scaled(by: 1 / Double($0)) }).pcm(format)
    }

    /// Whole frames written until now.
    public var framesWritten: Int { state.withLock { $0.framesWritten } }

    /// Waits for the end and returns the whole frames written: fewer than asked for if the reader went away.
    ///
    /// Throws what went wrong otherwise, such as a full disk.
    @discardableResult
    public func finish() throws -> Int {
        done.wait()
        done.signal()  // for the next one to ask
        let end = state.withLock { $0 }
        if let problem = end.problem { throw problem }
        return end.framesWritten
    }

    private func run(header: [UInt8], loop: PCM, frames: Int?, descriptor: Int32) {
        let file = OpenFile(adopting: descriptor)
        do {
            var isRead = try write(header, header.count, to: file.descriptor, counting: nil)
            var rest = frames ?? Int.max
            while isRead, rest > 0 {
                let count = min(rest, loop.frames)
                isRead = try write(loop.bytes, count * loop.bytesPerFrame, to: file.descriptor, counting: loop)
                rest -= count
            }
        } catch let problem as SupportError {
            state.withLock { $0.problem = problem }
        } catch {
            state.withLock { $0.problem = SupportError("write a WAV stream", "\(error)") }
        }
        close(file.release())
        done.signal()
    }

    /// Writes the first `size` bytes; false if nobody reads any more. Counts frames where `pcm` tells their size.
    private func write(_ bytes: [UInt8], _ size: Int, to descriptor: Int32, counting pcm: PCM?) throws -> Bool {
        let framesBefore = framesWritten
        return try bytes.withUnsafeBytes { raw in
            var written = 0
            while written < size {
                let answer = withoutPipeSignal {
                    Glibc.write(descriptor, raw.baseAddress.map { $0 + written }, min(size - written, 1 << 18))
                }
                if answer < 0 {
                    if errno == EINTR { continue }
                    if errno == EPIPE { return false }
                    throw SupportError("write a WAV stream", errno: errno)
                }
                written += answer
                if let pcm { state.withLock { $0.framesWritten = framesBefore + written / pcm.bytesPerFrame } }
            }
            return true
        }
    }
}
