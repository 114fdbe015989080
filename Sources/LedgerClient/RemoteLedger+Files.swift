package import API
import Conversion
import FoundationEssentials
import Ledger
import System
import WebClient

/// Files that a coordinator takes and serves. Besides a `LedgerError`, these calls throw a `FileRefusal`.
extension RemoteLedger {
    /// How long nothing may move: the coordinator also writes the file to its disk, or reads it for its digest.
    private static let silenceLimit: Duration = .seconds(300)

    /// What the coordinator does with files.
    package func fileOffer() async throws -> FileOffer {
        let request = CoordinatorConnection.Request(path: "/api/v1/files", operation: "ask for the roots of files")
        return try await ask(JSONRecord<FileOffer>.self, request).record
    }

    /// The file at a path below a root that takes files; `nil` if there is none.
    package func uploadedFile(root: String, path: String) async throws -> UploadedFile? {
        var request = CoordinatorConnection.Request(path: Self.place(root, path), operation: "look for a file")
        request.silenceLimit = Self.silenceLimit
        return try await find(JSONRecord<UploadedFile>.self, request)?.record
    }

    /// Sends the first `length` bytes of an open file, whose SHA-256 the coordinator compares. `sent` is told how many it has
    /// got.
    package func upload(
        _ descriptor: Int32,
        length: Int64,
        sha256: [UInt8],
        root: String,
        path: String,
        sent: @escaping @Sendable (Int64) -> Void
    ) async throws -> UploadedFile {
        var request = CoordinatorConnection.Request(
            method: "PUT",
            path: Self.place(root, path),
            headers: [
                .init("Content-Type", "application/octet-stream"), .init("Repr-Digest", DigestField.text(sha256)),
            ],
            body: .file(descriptor: descriptor, length: length),
            operation: "send a file"
        )
        request.silenceLimit = Self.silenceLimit
        guard let bytes = try await connection.send(request, sent: sent) else {
            throw LedgerError(.ledgerRefused, during: request.operation, "the coordinator knows no such place")
        }
        return try read(JSONRecord<UploadedFile>.self, bytes, request).record
    }

    /// Gets an output of a job from `offset` on, if the coordinator still has the file with this digest. `begin` is told where
    /// the bytes begin that follow: at `offset`, or at 0. It and `take` return whether to go on; the result is false if one of
    /// them did not.
    package func output(
        _ output: Int,
        of job: Int64,
        digest: String,
        from offset: Int64,
        begin: @escaping @Sendable (Int64) -> Bool,
        take: @escaping @Sendable (UnsafeRawBufferPointer) -> Bool
    ) async throws -> Bool {
        var request = CoordinatorConnection.Request(
            path: "/api/v1/jobs/\(job)/outputs/\(output)",
            operation: "get an output"
        )
        if offset > 0 {
            request.headers = [.init("Range", "bytes=\(offset)-"), .init("If-Range", "\"\(digest)\"")]
        }
        request.silenceLimit = Self.silenceLimit
        return try await connection.receive(
            request,
            begin: { answer in
                guard answer.status == 206 else { return begin(0) }
                // A part of which it is not known where it begins is of no use.
                guard answer.header("Content-Range")?.hasPrefix("bytes \(offset)-") == true else { return false }
                return begin(offset)
            },
            take: take
        )
    }

    /// Has the coordinator compare an output with what the job recorded. Throws a `FileRefusal` if it differs or is gone.
    package func compareOutput(_ output: Int, of job: Int64, bytes: Int64, digest: String) async throws {
        var request = CoordinatorConnection.Request(
            path: "/api/v1/jobs/\(job)/outputs/\(output)",
            headers: [.init("Range", "bytes=0-0")],
            operation: "compare an output"
        )
        request.silenceLimit = Self.silenceLimit
        // A proxy answers for itself, too: only a coordinator names the digest.
        let isCompared = Latest(false)
        do {
            _ = try await connection.receive(
                request,
                begin: { answer in
                    isCompared.value = [200, 206].contains(answer.status) && answer.header("ETag") == "\"\(digest)\""
                    return isCompared.value && answer.status == 206
                },
                take: { _ in true }
            )
        } catch let refusal as FileRefusal where refusal.code == .badRange && bytes == 0 {
            // An empty file has no first byte.
            return
        }
        guard isCompared.value else {
            throw LedgerError(
                .coordinatorUnexpectedAnswer,
                during: request.operation,
                "what answers at \(place.url) does not name the digest of the output"
            )
        }
    }

    private static func place(_ root: String, _ path: String) -> String {
        let names = path.split(separator: "/", omittingEmptySubsequences: false)
        let words = ([Substring(root)] + names).map { CoordinatorConnection.escaped(String($0)) }
        return "/api/v1/files/" + words.joined(separator: "/")
    }
}
