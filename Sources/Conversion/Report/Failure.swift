/// Why a conversion came to nothing: what the ledger keeps of it and what a person reads.
///
/// Programs branch on `code`, `stage` and `kind`; `message` and `hint` are for people and may be reworded.
public struct Failure: Error, Sendable, Hashable, Codable {
    /// What another try is worth.
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// The same request on the same bytes ends in the same way.
        case permanent
        /// Another try may succeed although nothing was repaired.
        case transient
        /// Nothing is wrong with the job; what it ran on went away.
        case infrastructure
    }

    /// A stable name out of docs/errors.md: `corrupt_stream`.
    public var code: String
    /// Its class, as people and the ledger say.
    public var kind: Kind
    /// What was at work: `open`, `probe`, `decode`, `resample`, `encode`, `write`, `finish`, `publish`.
    public var stage: String
    /// A sentence without a full stop.
    public var message: String
    /// The stream's number in its container, where one is concerned.
    public var stream: Int?
    /// Where on the source's clock.
    public var position: MediaTime?
    /// The same place in frames of the source.
    public var frame: Int64?
    /// libav's name of the error, without its prefix: `INVALIDDATA`.
    public var libavName: String?
    /// libav's text for the error, and the last line that it logged.
    public var libavText: String?
    /// What to do next.
    public var hint: String?
    /// Of a format that was refused, every field that does not fit.
    public var refusals: [FormatRefusal.Reason]?

    public init(
        code: String,
        kind: Kind,
        stage: String,
        message: String,
        stream: Int? = nil,
        position: MediaTime? = nil,
        frame: Int64? = nil,
        libavName: String? = nil,
        libavText: String? = nil,
        hint: String? = nil,
        refusals: [FormatRefusal.Reason]? = nil
    ) {
        self.code = code
        self.kind = kind
        self.stage = stage
        self.message = message
        self.stream = stream
        self.position = position
        self.frame = frame
        self.libavName = libavName
        self.libavText = libavText
        self.hint = hint
        self.refusals = refusals
    }

    private enum CodingKeys: String, CodingKey {
        case code, kind = "class", stage, message, stream, position, frame, libavName, libavText, hint, refusals
    }
}
