import Dispatch
import Hashing
import Synchronization
import System
package import WebClient

/// Sends an output to a store while it is being made, in parts. No reader sees any of it before it is published.
///
/// The first part is held back to the end, because containers have numbers in their head that are known last. One part is
/// sent while the next one fills. Its calls block, and one thread at a time may make them. The disk holds three parts.
package struct ObjectWriter: ~Copyable {
    private let client: StoreClient
    private let key: String
    private let order: String
    private let sizes: PartSizes
    private let contentType: String?
    private let folder: String
    /// Ends with the caller's stop, and alone when the output is abandoned.
    private let stop: WebStop
    private let onUpload: (String) throws -> Void

    /// Held back until the end.
    private var head: GrowingPart?
    /// The part that grows, behind the first one.
    private var current: GrowingPart?
    private var headBytes: Int64 = 0
    private var currentBytes: Int64 = 0
    /// The number of the last part that was begun.
    private var number = 1
    private var upload: String?
    private var sending: Sending?
    private var parts: [UploadedPart] = []
    private let hash = SHA256Hash()
    private var isPatched = false
    /// Whether a call has failed, so that bytes are missing.
    private var isBroken = false
    private(set) package var byteCount: Int64 = 0

    /// Asks the store for nothing yet. Parts lie in `folder` until they are sent. `onUpload` gets the id of the upload
    /// before any part is sent: it is recorded there, so that the upload can be aborted if this process dies. `stop` ends the
    /// sending of parts from another thread; the writer never stops it.
    package init(
        _ client: StoreClient,
        key: String,
        order: String,
        sizes: PartSizes = PartSizes(),
        contentType: String? = nil,
        folder: String,
        stop: WebStop? = nil,
        onUpload: @escaping (String) throws -> Void = { _ in }
    ) {
        (self.client, self.key, self.order, self.sizes) = (client, key, order, sizes)
        (self.contentType, self.folder, self.onUpload) = (contentType, folder, onUpload)
        self.stop = WebStop(below: stop)
    }

    /// Adds bytes at the end. After an error, the output cannot be finished.
    package mutating func append(_ bytes: UnsafeRawBufferPointer) throws {
        try check()
        isBroken = true
        try add(bytes)
        isBroken = false
    }

    /// Refuses to go on after an error: the output would be published with a gap.
    private func check() throws(StoreError) {
        guard !isBroken else {
            throw StoreError(.refused, "write", client.place(key), "some of its bytes could not be stored before")
        }
    }

    private mutating func add(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        while !rest.isEmpty {
            let room = sizes.byteCount(ofPart: number) - (number == 1 ? headBytes : currentBytes)
            if room == 0 {
                try beginPart()
                continue
            }
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(min(room, Int64(rest.count)))))
            try keep(piece)
            hash.add(piece)
            byteCount += Int64(piece.count)
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(piece.count))
        }
    }

    /// Writes over bytes that were added before. They must lie in the first part.
    package mutating func patch(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(StoreError) {
        guard !bytes.isEmpty else { return }
        try check()
        isBroken = true
        guard offset >= 0, offset <= headBytes - Int64(bytes.count) else {
            throw StoreError(
                .refused,
                "change",
                client.place(key),
                "bytes behind the first \(sizes.byteCount(ofPart: 1)) have been sent"
            )
        }
        isPatched = true
        do throws(SystemError) {
            try head?.patch(bytes, at: offset)
        } catch {
            throw disk(error)
        }
        isBroken = false
    }

    /// Sends what is left. An output that fits into the first part is sent when it is published. After an error, the caller
    /// aborts the upload that `onUpload` got.
    package consuming func finish() throws -> FinishedOutput {
        do {
            try check()
            return try sendRest()
        } catch {
            // The caller aborts the upload next. A part that arrives later could stay in the store.
            _ = sending?.wait()
            throw error
        }
    }

    private mutating func sendRest() throws -> FinishedOutput {
        if upload == nil, currentBytes == 0 {
            if headBytes == 0 { try keep(UnsafeRawBufferPointer(start: nil, count: 0)) }
            let whole = try takeHead()
            let digest = isPatched ? whole.digest : hash.finish()
            return output(.small(whole), digest)
        }
        try sendCurrent()
        try wait()
        let upload = try begunUpload()
        let first = try client.send(try takeHead(), number: 1, of: upload, to: key, stop: stop)
        let all = ([first] + parts).sorted { $0.number < $1.number }
        return output(.upload(id: upload, all), isPatched ? nil : hash.finish())
    }

    /// How long each request to abort may take. A store that is gone is not waited for: the upload is recorded.
    private static let abortLimit: Duration = .seconds(15)

    /// Gives up the output: aborts what the store has of it, also after the caller's stop. Takes half a minute at most.
    package consuming func abandon() throws(StoreError) {
        stop.stop()
        // What it fails with does not matter any more.
        let last = sending?.wait()
        guard let upload else { return }
        try client.abort(upload, to: key, within: Self.abortLimit)
        // AWS keeps a part that was on its way and arrives after the request, until a second one.
        if case .failure = last { try client.abort(upload, to: key, within: Self.abortLimit) }
    }

    private func output(_ bytes: FinishedOutput.Bytes, _ digest: [UInt8]?) -> FinishedOutput {
        FinishedOutput(
            key: key,
            byteCount: byteCount,
            sha256: digest,
            order: order,
            contentType: contentType,
            bytes: bytes
        )
    }

    // MARK: - Parts

    private mutating func beginPart() throws {
        guard number < PartSizes.mostParts else {
            throw StoreError(
                .refused,
                "write",
                client.place(key),
                "the output is longer than \(PartSizes.mostParts) parts of an upload"
            )
        }
        try sendCurrent()
        number += 1
    }

    /// Has the part that grows sent, once the one before is there.
    private mutating func sendCurrent() throws {
        guard currentBytes > 0 else { return }
        let part = try takeCurrent()
        try wait()
        let upload = try begunUpload()
        sending = Sending(part, number, upload, key, client, stop)
    }

    private mutating func begunUpload() throws -> String {
        if let upload { return upload }
        let begun = try client.beginUpload(to: key, order: order, contentType: contentType, stop: stop)
        upload = begun
        try onUpload(begun)
        return begun
    }

    private mutating func wait() throws(StoreError) {
        guard let sent = sending?.wait() else { return }
        sending = nil
        parts.append(try sent.get())
    }

    // MARK: - Disk

    private mutating func keep(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        do throws(SystemError) {
            if number == 1 {
                try Self.add(bytes, to: &head, in: folder)
                headBytes += Int64(bytes.count)
            } else {
                try Self.add(bytes, to: &current, in: folder)
                currentBytes += Int64(bytes.count)
            }
        } catch {
            throw disk(error)
        }
    }

    private static func add(
        _ bytes: UnsafeRawBufferPointer,
        to part: inout GrowingPart?,
        in folder: String
    ) throws(SystemError) {
        if part == nil { part = try GrowingPart(in: folder) }
        try part?.append(bytes)
    }

    private mutating func takeHead() throws(StoreError) -> PartFile {
        guard let part = head.take() else { preconditionFailure("the first part is taken once") }
        do throws(SystemError) {
            return try part.finished()
        } catch {
            throw disk(error)
        }
    }

    private mutating func takeCurrent() throws(StoreError) -> PartFile {
        guard let part = current.take() else { preconditionFailure("a part with bytes is there") }
        currentBytes = 0
        do throws(SystemError) {
            return try part.finished()
        } catch {
            throw disk(error)
        }
    }

    private func disk(_ error: SystemError) -> StoreError {
        StoreError(
            .localDisk,
            "write",
            client.place(key),
            "cannot keep its bytes in \(folder) until they are sent: \(error)"
        )
    }

    /// A part on its way.
    private final class Sending: Sendable {
        private let result = Mutex<Result<UploadedPart, StoreError>?>(nil)
        private let isDone = DispatchSemaphore(value: 0)
        private static let threads = BlockingThreads("send parts")

        init(_ part: PartFile, _ number: Int, _ upload: String, _ key: String, _ client: StoreClient, _ stop: WebStop) {
            Self.threads.run { [self] in
                let sent: Result<UploadedPart, StoreError>
                do throws(StoreError) {
                    sent = .success(try client.send(part, number: number, of: upload, to: key, stop: stop))
                } catch {
                    sent = .failure(error)
                }
                result.withLock { $0 = sent }
                isDone.signal()
            }
        }

        /// Call it once.
        func wait() -> Result<UploadedPart, StoreError> {
            isDone.wait()
            guard let result = result.withLock({ $0 }) else { preconditionFailure("a part that was sent has a result") }
            return result
        }
    }
}
