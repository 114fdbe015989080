/// Why a conversion failed: what the ledger stores and the user reads.
///
/// Programs branch on `code`, `stage` and `kind`; `message` and `hint` are for the user and may be reworded.
public struct Failure: Error, Sendable, Hashable, Codable {
    /// Whether a retry can help.
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// The same request on the same bytes fails again in the same way.
        case permanent
        /// A retry may succeed without a repair.
        case transient
        /// The job is sound; something that it ran on failed.
        case infrastructure
    }

    /// A stable code from docs/errors.md, for example `corrupt_stream`.
    public var code: String
    /// Called the failure's class in messages and in the ledger.
    public var kind: Kind
    /// The step that failed: `open`, `probe`, `decode`, `resample`, `encode`, `write`, `finish`, `publish`.
    public var stage: String
    /// A sentence without a full stop.
    public var message: String
    /// The stream's number in its container, if the failure concerns one.
    public var stream: Int?
    /// The position on the source's clock.
    public var position: MediaTime?
    /// The same position in frames of the source.
    public var frame: Int64?
    /// libav's name of the error without its prefix, for example `INVALIDDATA`.
    public var libavName: String?
    /// libav's text for the error, and the last line that libav logged.
    public var libavText: String?
    /// What the user can do next.
    public var hint: String?
    /// If the format was refused, every field that does not fit.
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
