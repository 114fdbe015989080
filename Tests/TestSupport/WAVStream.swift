import Foundation
import Synchronization

extension WAVFile {
    /// Starts writing a WAV of `frames` frames (endless if `nil`) to `descriptor`, and closes that at the end.
    ///
    /// Memory use stays constant. The samples repeat `WAVStream.loop(...)`. The header says 0xFFFFFFFF if the size
    /// does not fit 32 bits, or the size that it is given. The stream ends when the reader closes the pipe.
    public static func stream(
        frames: Int?,
        rate: Int = 44_100,
        channels: Int = 2,
        format: PCM.SampleFormat = .s16,
        claiming size: UInt32? = nil,
        to descriptor: Int32
    ) -> WAVStream {
        let options = Options(claimedDataSize: size)
        let header = header(rate: rate, channels: channels, format: format, frames: frames, options: options)
        let loop = WAVStream.loop(rate: rate, channels: channels, format: format)
        return WAVStream(header: header, loop: loop, frames: frames, descriptor: descriptor)
    }
}

/// A thread that writes a long WAV.
public final class WAVStream: Sendable {
    private struct State {
        var framesWritten = 0
        var problem: SupportError?
    }

    private let state = Mutex(State())
    private let done = DispatchSemaphore(value: 0)

    fileprivate init(header: [UInt8], loop: PCM, frames: Int?, descriptor: Int32) {
        Thread.detachNewThread { [self] in
            run(header: header, loop: loop, frames: frames, descriptor: descriptor)
        }
    }

    /// The audio that repeats: five seconds of sweep, each channel quieter than the one before.
    public static func loop(rate: Int, channels: Int, format: PCM.SampleFormat) -> PCM {
        let sweep = Signal.sweep(rate: rate, frames: 5 * rate, amplitude: 0.5)
        return Signal.stacked((1...channels).map { sweep.scaled(by: 1 / Double($0)) }).pcm(format)
    }

    /// Whole frames written so far.
    public var framesWritten: Int { state.withLock { $0.framesWritten } }

    /// Waits for the end and returns the number of whole frames written, which is smaller if the reader closed early.
    ///
    /// Throws any other failure, such as a full disk.
    @discardableResult
    public func finish() throws -> Int {
        done.wait()
        done.signal()  // so that another call returns too
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

    /// Writes the first `size` bytes; returns false if the reader has closed. Counts frames if `pcm` gives their size.
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
