public import Conversion
import Glibc
import System

/// The bytes of a source that is no file of this machine.
public protocol FetchedBytes: Sendable {
    /// The length of the source.
    var byteCount: Int64 { get }

    /// Reads bytes from `offset` on, which lies before the end. Returns their number, which is at least 1, or `nil` if they
    /// cannot be had. Blocks.
    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int?
}

/// A source that a slot fetches for its room, range by range, when the room asks for it over the wire.
///
/// The room gets a piece of memory instead of the file. The slot only writes to it, and its length is fixed, so a room that
/// writes there too changes nothing but what it reads itself.
public final class RoomWindow: Sendable {
    private let memory: SharedDescriptor
    private let bytes: any FetchedBytes
    private static let threads = BlockingThreads("fetching for rooms")

    /// Throws if the process has no memory or no descriptor left.
    public init(_ bytes: any FetchedBytes) throws(Failure) {
        self.bytes = bytes
        do throws(SystemError) {
            memory = try SharedDescriptor.window(byteCount: WindowFacts.memoryBytes)
        } catch {
            let isCrowded = [EMFILE, ENFILE].contains(error.number)
            throw Failure(isCrowded ? .tooManyFiles : .outOfMemory, at: .open, error.text)
        }
    }

    /// Stands for the source among the sources of a job.
    public var descriptor: Int32 { memory.number }
    var byteCount: Int64 { bytes.byteCount }

    /// Fetches up to `count` bytes, and writes them to the beginning of the memory. Does not wait: `then` is called on another
    /// thread with their number, or with `nil` if they cannot be had.
    func fill(from offset: Int64, count: Int, then: @escaping @Sendable (Int?) -> Void) {
        Self.threads.run { [self] in then(fill(from: offset, count)) }
    }

    private func fill(from offset: Int64, _ count: Int) -> Int? {
        withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) { buffer in
            guard let read = bytes.read(at: offset, into: buffer), (1...count).contains(read) else { return nil }
            var written = 0
            while written < read {
                let rest = UnsafeRawBufferPointer(rebasing: buffer[written..<read])
                let more = retryingInterrupts { pwrite(memory.number, rest.baseAddress, rest.count, off_t(written)) }
                guard more > 0 else { return nil }
                written += more
            }
            return read
        }
    }
}

extension SharedDescriptor {
    /// Zeros in memory, whose number no process can change later.
    fileprivate static func window(byteCount: Int) throws(SystemError) -> SharedDescriptor {
        let file = try SharedDescriptor.sealable()
        guard retryingInterrupts({ ftruncate(file.number, off_t(byteCount)) }) == 0 else {
            throw SystemError(call: "ftruncate", number: errno)
        }
        try file.sealSize()
        return file
    }
}
