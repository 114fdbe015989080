import Conversion
import HTTPServer
import Ledger
import Storage

/// What programs ask before they send files: where they may, and what is there already.
enum UploadedFileOperations {
    static func all(_ share: FileShare) -> [Operation] {
        [
            Operation(
                name: "getFileOffer",
                method: .get,
                path: "/api/v1/files",
                summary: "the roots where programs may send files, and those whose outputs they may get",
                access: .readers,
                answer: Shapes.fileOffer
            ) { _ in try .json(JSONRecord(share.offer)) },
            Operation(
                name: "getUploadedFile",
                method: .get,
                path: "/api/v1/files/{root}/{path}",
                summary:
                    "the length and the digest of a file below a root that takes uploads: a client need not send it again",
                access: .submitters,
                parameters: UploadOperation.place,
                answer: Shapes.upload,
                takesRest: true
            ) { call in try await find(call, share) },
        ]
    }

    private static func find(_ call: Call, _ share: FileShare) async throws -> HTTPAnswer {
        let root = try share.root(forUploads: call.text("root") ?? "")
        let location = try FilePlace.location(root: root.name, path: call.text("path") ?? "")
        // Who may not write there learns nothing of the files there.
        let record = UploadRecord(ledger: call.ledger, location: "\(location)", bytes: 0)
        try await record.begin()
        await record.cancel()
        do {
            let file = try await share.open(location, in: root, for: call.caller.account)
            defer { share.end(file, in: root.name, for: call.caller.account) }
            let found = try await share.fingerprint(of: file, in: root.name)
            let upload = UploadedFile(location: "\(location)", bytes: found.byteCount, digest: found.hexDigest)
            return try .json(JSONRecord(upload))
        } catch let error as StorageError {
            throw problem(error, location)
        }
    }

    private static func problem(_ error: StorageError, _ location: Location) -> any Error {
        switch error.code {
        case .sourceNotFound: Problem(.noSuchThing, "there is no file \(location)")
        case .outsideRoot, .invalidPath, .invalidLocation, .folderNotFound, .notAFile:
            Problem(.badPath, error.failure.message)
        case .rootForbids, .permissionDenied: Problem(error.failure, .forbidden)
        case .storageUnavailable, .tooManyFiles: Problem(error.failure, .serviceUnavailable)
        default: error
        }
    }
}
