import Conversion
import HTTPServer
import Ledger
import Storage

/// How programs send sources that jobs can then name.
enum UploadOperation {
    /// The place of a file, in the path of a request.
    static let place = [
        Operation.Parameter("root", .text(1...64), "the name of the root"),
        Operation.Parameter("path", .text(1...4_095), "the path below the root; its slashes may be escaped"),
    ]

    static func value(_ share: FileShare) -> Operation {
        Operation(
            name: "uploadFile",
            method: .put,
            path: "/api/v1/files/{root}/{path}",
            summary: "send a file, which is there whole or not at all; replaces nothing, and a repetition changes "
                + "nothing",
            access: .submitters,
            parameters: place,
            body: .file,
            answer: Shapes.upload,
            status: .created,
            takesRest: true
        ) { call in try await run(call, share) }
    }

    private static func run(_ call: Call, _ share: FileShare) async throws -> HTTPAnswer {
        let root = try share.root(forUploads: call.text("root") ?? "")
        let location = try FilePlace.location(root: root.name, path: call.text("path") ?? "")
        let wanted = try digests(call.head)
        let bytes = call.head.bodyLength
        guard bytes <= share.mostBytes else {
            throw Problem(.uploadTooLarge, "it has \(bytes) bytes; the limit is \(share.mostBytes)")
        }
        guard let body = call.stream else { throw Problem(.unexpected) }
        let caller = call.caller.account
        try share.begin(uploadOf: caller)
        defer { share.end(uploadOf: caller) }
        let record = UploadRecord(ledger: call.ledger, location: "\(location)", bytes: bytes)
        // Before anything is said about files, because it checks where the caller may write.
        try await record.begin()
        let (ending, found): (IncomingFile.Ending, Fingerprint)
        do {
            (ending, found) = try await receive(body, bytes, location, in: root, wanted, share, record)
        } catch let givenUp as PublishingGivenUp {
            // The file may get its name yet, so its bytes count.
            throw givenUp.error
        } catch {
            await record.cancel()
            throw problem(error, "\(location)")
        }
        // If this fails, the client repeats the upload, and that is recorded.
        try await record.end(ending, found)
        var answer = try HTTPAnswer.json(
            JSONRecord(UploadedFile(location: "\(location)", bytes: bytes, digest: found.hexDigest)),
            ending == .published ? .created : .ok
        )
        answer.fields.append(("Repr-Digest", DigestField.text(found.sha256)))
        return answer
    }

    private static func receive(
        _ body: BodyStream,
        _ bytes: Int64,
        _ location: Location,
        in root: StorageRoot,
        _ wanted: [[UInt8]],
        _ share: FileShare,
        _ record: UploadRecord
    ) async throws -> (IncomingFile.Ending, Fingerprint) {
        let file = try await share.run(in: root.name, late: { $0.close() }) { () throws(StorageError) in
            try IncomingFile.open(for: location, in: root, byteCount: bytes)
        }
        // Closing removes what was not published. It blocks like every other call.
        defer { share.leave(in: root.name) { file.close() } }
        var received: Int64 = 0
        for try await piece in body {
            received += Int64(piece.count)
            guard received <= bytes else { throw BodyStream.Interrupted() }
            try await share.run(in: root.name) { () throws(StorageError) in try file.write(piece) }
        }
        guard received == bytes else { throw BodyStream.Interrupted() }
        let found = file.fingerprint()
        guard wanted.allSatisfy({ $0 == found.sha256 }) else {
            throw Problem(.wrongDigest, "the SHA-256 of what arrived is \(found.hexDigest)")
        }
        do {
            let ending = try await share.run(in: root.name, late: { ending in record.endLate(ending, found) }) {
                () throws(StorageError) in
                try file.publish(as: found)
            }
            return (ending, found)
        } catch let problem as Problem {
            throw PublishingGivenUp(error: problem)
        }
    }

    /// The root did not answer while the file was to get its name. It may get it later.
    private struct PublishingGivenUp: Error { let error: Problem }

    /// The digests that the whole body must have. Throws if the body would not be the file.
    private static func digests(_ head: RequestHead) throws(Problem) -> [[UInt8]] {
        guard head.field("content-range") == nil else { throw Problem(.badParameter, "a file must be sent whole") }
        guard ["identity", nil].contains(head.field("content-encoding")?.lowercased()) else {
            throw Problem(.wrongType, "Content-Encoding is not read; send the file as it is")
        }
        var digests: [[UInt8]] = []
        for field in head.fields where ["content-digest", "repr-digest"].contains(field.name) {
            if let digest = try DigestField.sha256(in: field.value) { digests.append(digest) }
        }
        return digests
    }

    private static func problem(_ error: any Error, _ place: String) -> any Error {
        if error is BodyStream.Interrupted || error is CancellationError {
            return Problem(.badBody, "the connection ended before the whole file had arrived")
        }
        guard let error = error as? StorageError else { return error }
        switch error.code {
        case .destinationExists: return Problem(.fileExists, "\(place): \(error.detail)")
        case .diskFull: return Problem(.noSpace, "\(place): \(error.detail)")
        case .outsideRoot, .invalidPath, .invalidLocation, .folderNotFound, .notAFile:
            return Problem(.badPath, error.failure.message)
        case .rootForbids, .permissionDenied, .readOnly: return Problem(error.failure, .forbidden)
        case .storageUnavailable, .tooManyFiles: return Problem(error.failure, .serviceUnavailable)
        default: return error
        }
    }
}

/// What the ledger knows of one upload.
///
/// The calls after the first byte have tasks of their own: the server cancels that of the request when it stops, or when the
/// client leaves.
struct UploadRecord: Sendable {
    let ledger: JobLedger
    let location: String
    let bytes: Int64
    private let upload = UploadID()

    init(ledger: JobLedger, location: String, bytes: Int64) {
        (self.ledger, self.location, self.bytes) = (ledger, location, bytes)
    }

    func begin() async throws { try await ledger.beginUpload(upload, to: location, bytes: bytes) }

    func end(_ ending: IncomingFile.Ending, _ found: Fingerprint) async throws {
        try await Task { try await note(ending, found) }.value
    }

    /// Returns before the ledger has the record. `try?`: the answer has been sent, and a record that fails only leaves the
    /// bytes counted against the tenant for a day.
    func endLate(_ ending: IncomingFile.Ending, _ found: Fingerprint) { Task { try? await note(ending, found) } }

    /// For an upload of which nothing is left. `try?`: a cancellation that fails only leaves the bytes counted against the
    /// tenant for a day.
    func cancel() async { await Task { try? await ledger.cancelUpload(upload) }.value }

    private func note(_ ending: IncomingFile.Ending, _ found: Fingerprint) async throws {
        try await ledger.endUpload(
            upload,
            to: location,
            bytes: bytes,
            digest: found.hexDigest,
            isNew: ending == .published
        )
    }
}
