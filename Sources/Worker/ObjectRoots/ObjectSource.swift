import Conversion
import Glibc
import Ledger
import ObjectStorage
import PumpRoom
import Storage
import Synchronization

/// An object of a bucket or of a web server as the source of a job. A room reads it through a window, and all bytes are of
/// the object that was opened.
final class ObjectSource: RemoteSource {
    let window: RoomWindow
    private let bytes: ObjectBytes

    /// Opens the object at `location`, with one request that also has its first bytes. Blocks.
    init(_ location: Location, in root: ObjectRoot, for reading: ObjectReading) throws(StorageError) {
        bytes = try ObjectBytes(location, root, reading)
        do throws(Failure) {
            window = try RoomWindow(bytes)
        } catch {
            let code = error.known ?? .unexpected
            throw StorageError(code, at: .open, "open the source", error.message, place: "\(location)")
        }
    }

    /// Ends what is under way: a room that was killed leaves a request behind.
    deinit { bytes.reader.cancel() }

    var descriptor: Int32 { window.descriptor }
    var byteCount: Int64 { bytes.byteCount }
    var modifiedAt: Int64 { bytes.reader.facts.modified?.nanoseconds ?? 0 }
    var version: String { bytes.reader.facts.version }
    var isUnchanged: Bool { bytes.isUnchanged }

    /// The size, and the time of the last change. If the server tells no time, it is that of this call: nothing says that the
    /// contents are those of an earlier scan.
    var stamp: SourceStamp {
        guard bytes.reader.facts.modified == nil else { return SourceStamp(bytes: byteCount, modified: modifiedAt) }
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return SourceStamp(bytes: byteCount, modified: Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec))
    }
}

/// What the sources of one job that are objects have in common. Keeps the memory of all of them within that of a few.
final class ObjectReading: Sendable {
    private struct State {
        var failure: (error: StorageError, root: String)?
        /// Readers that hold bytes, the one that was used last at the end.
        var readers: [ObjectReader] = []
        /// Bytes that are kept of sources that their servers send without ranges.
        var wholeBytes: Int64 = 0
    }

    private let state = Mutex(State())
    /// Each holds at most three blocks of 4 MiB. A mix reads several sources in turn.
    private static let mostReaders = 4

    /// Why bytes that the room wanted could not be had; `nil` if all could.
    var failure: StorageError? { state.withLock { $0.failure?.error } }
    /// The root where that was.
    var root: String? { state.withLock { $0.failure?.root } }

    fileprivate func note(_ error: StorageError, _ root: String) {
        // The first failure is the cause of the others.
        state.withLock { $0.failure = $0.failure ?? (error, root) }
    }

    /// The most bytes that another source without ranges may have.
    fileprivate var wholeLimit: Int64 { state.withLock { ObjectReader.longestWhole - $0.wholeBytes } }

    /// `reader` was opened. One that keeps all of its bytes is not among those that give up theirs.
    fileprivate func add(_ reader: ObjectReader) {
        guard reader.isWhole else { return use(reader) }
        state.withLock { $0.wholeBytes += reader.facts.byteCount }
    }

    /// `reader` is about to hold bytes: the one that was used longest ago gives up its own.
    fileprivate func use(_ reader: ObjectReader) {
        guard !reader.isWhole else { return }
        let idle = state.withLock { state -> ObjectReader? in
            guard state.readers.last !== reader else { return nil }
            state.readers.removeAll { $0 === reader }
            state.readers.append(reader)
            return state.readers.count > Self.mostReaders ? state.readers.removeFirst() : nil
        }
        idle?.forget()
    }
}

/// The bytes of an object for a room.
private final class ObjectBytes: FetchedBytes {
    let reader: ObjectReader
    private let location: Location
    private let root: ObjectRoot
    private let reading: ObjectReading

    init(_ location: Location, _ root: ObjectRoot, _ reading: ObjectReading) throws(StorageError) {
        (self.location, self.root, self.reading) = (location, root, reading)
        let key: String
        do throws(AddressError) {
            key = try root.key(of: location.path)
        } catch {
            let hint = error.hint
            throw StorageError(
                .invalidLocation,
                at: .open,
                "open the source",
                error.why,
                place: "\(location)",
                hint: hint
            )
        }
        FileCalls.touches(root.name)
        do throws(StoreError) {
            reader = try root.open(key, wholeLimit: reading.wholeLimit)
        } catch {
            throw root.error(error, reading: location)
        }
        reading.add(reader)
    }

    var byteCount: Int64 { reader.facts.byteCount }

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        reading.use(reader)
        do throws(StoreError) {
            return try reader.read(at: offset, into: buffer)
        } catch {
            note(error)
            return nil
        }
    }

    /// Whether the object is what it was when it was opened. A server that does not say is a failure.
    var isUnchanged: Bool {
        FileCalls.touches(root.name)
        do throws(StoreError) {
            return try reader.isUnchanged()
        } catch {
            note(error)
            return false
        }
    }

    private func note(_ error: StoreError) {
        // The job has ended, and wants no more bytes.
        guard error.kind != .stopped else { return }
        reading.note(root.error(error, reading: location), root.name)
    }
}
