import Conversion
import FoundationEssentials

/// One upload, from its first byte to its end.
public struct UploadID: Sendable, Hashable {
    let number = UUID()

    public init() {}
}

extension JobLedger {
    /// Asks whether the caller may put a file of so many bytes at a location, and counts the bytes. Call it before the first
    /// byte. Throws `permissionDenied` and `quotaExceeded`.
    ///
    /// The bytes of an upload of which nothing is left count for a day, unless `cancelUpload` is called.
    public func beginUpload(_ upload: UploadID, to location: String, bytes: Int64) async throws {
        try await settle("begin an upload") { connection, _ in
            _ = try connection.execute("select \(schema).begin_upload(\(upload.number), \(location), \(bytes))")
        }
    }

    /// Records an upload whose file is in its place; `isNew` is false if the same bytes were there already.
    public func endUpload(
        _ upload: UploadID,
        to location: String,
        bytes: Int64,
        digest: String,
        isNew: Bool
    ) async throws {
        try await settle("record an upload") { connection, _ in
            _ = try connection.execute(
                "select \(schema).end_upload(\(upload.number), \(location), \(bytes), \(digest), \(isNew))"
            )
        }
    }

    /// Gives back the bytes of an upload of which nothing is left.
    public func cancelUpload(_ upload: UploadID) async throws {
        try await settle("cancel an upload") { connection, _ in
            _ = try connection.execute("select \(schema).cancel_upload(\(upload.number))")
        }
    }
}
