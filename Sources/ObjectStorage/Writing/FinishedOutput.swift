/// An output that the store has whole, but shows to no reader yet, or that is small enough to be sent at once.
package struct FinishedOutput: Sendable {
    package enum Bytes: Sendable {
        case small(PartFile)
        /// All parts are sent.
        case upload(id: String, [UploadedPart])
    }

    package let key: String
    package let byteCount: Int64
    /// Of the whole; `nil` if bytes of an upload in parts were changed after later ones had passed. Only reading the object
    /// tells it then.
    package let sha256: [UInt8]?
    /// Names the publication in the object's own metadata.
    package let order: String
    package let contentType: String?
    package let bytes: Bytes
}
