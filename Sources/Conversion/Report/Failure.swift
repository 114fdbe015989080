/// Why a conversion failed: what the ledger records and what people read.
///
/// Programs branch on `code`, `stage` and `kind`; `message` and `hint` are for the user and may be reworded.
public struct Failure: Error, Sendable, Hashable, Codable {
    /// Whether another attempt can succeed.
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// The same request on the same bytes fails in the same way.
        case permanent
        /// Another attempt may succeed although nothing was repaired.
        case transient
        /// Nothing is wrong with the job: the machine or service that it used failed or stopped.
        case infrastructure
    }

    /// The part of the work that failed.
    public enum Stage: String, Sendable, Hashable, Codable, CaseIterable {
        case open, probe, decode, resample, encode, write, finish, publish, ledger, lease, release

        /// One line for docs/errors.md.
        public var meaning: String {
            switch self {
            case .open: "opening a source or an output, and choosing the format"
            case .probe: "identifying the streams"
            case .decode: "reading packets and decoding them"
            case .resample: "converting samples to another rate, layout or sample format"
            case .encode: "accepting samples and encoding them"
            case .write: "writing bytes"
            case .finish: "draining, completing headers, counting and verifying"
            case .publish: "giving the finished file its name"
            case .ledger: "using the database"
            case .lease: "none: the ledger ended the attempt because its worker was lost"
            case .release: "none: the worker released the job"
            }
        }
    }

    /// The raw value of a `FailureCode`: `corrupt_stream`. A ledger that a newer version wrote to may hold other codes.
    public var code: String
    /// Called the failure's class in messages and in the ledger.
    public var kind: Kind
    /// The raw value of a `Stage`.
    public var stage: String
    /// A sentence without a full stop.
    public var message: String
    /// The number of the stream in its container, if the failure concerns one stream.
    public var stream: Int?
    /// The number of the output that failed, from 1, if it is one of several. The ledger keeps its name in the message.
    public var output: Int?
    /// The position in the source, on its clock, if the failure has one.
    public var position: MediaTime?
    /// The same position in frames of the source.
    public var frame: Int64?
    /// libav's name of the error without its prefix, for example `INVALIDDATA`.
    public var libavName: String?
    /// libav's text for the error, and the last line that libav logged.
    public var libavText: String?
    /// What the user can do next.
    public var hint: String?
    /// For a refused format: every field that does not fit.
    public var refusals: [FormatRefusal.Reason]?
    /// For a source that counts as damaged: what it promises, and what was found.
    public var contradiction: Contradiction?

    /// A new failure. The catalogue gives its class, and its hint unless `hint` says something more specific.
    public init(
        _ code: FailureCode,
        at stage: Stage,
        _ message: String,
        stream: Int? = nil,
        position: MediaTime? = nil,
        frame: Int64? = nil,
        libavName: String? = nil,
        libavText: String? = nil,
        hint: String? = nil,
        refusals: [FormatRefusal.Reason]? = nil
    ) {
        self.init(
            code: code.rawValue,
            kind: code.kind,
            stage: stage.rawValue,
            message: message,
            stream: stream,
            position: position,
            frame: frame,
            libavName: libavName,
            libavText: libavText,
            hint: hint ?? code.advice,
            refusals: refusals
        )
    }

    /// A failure as it was recorded, whose code may be unknown to this version.
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

    /// The code's place in the catalogue; `nil` if this version does not know it.
    public var known: FailureCode? { FailureCode(rawValue: code) }

    /// The same failure under another code, with the class and hint of that code.
    public func with(_ code: FailureCode) -> Failure {
        var failure = self
        (failure.code, failure.kind, failure.hint) = (code.rawValue, code.kind, code.advice)
        return failure
    }

    /// The same failure with the name of its output in the message. `names` are those of all outputs.
    public func naming(_ names: [String]) -> Failure {
        guard let output, names.indices.contains(output - 1) else { return self }
        var failure = self
        failure.message = "\(names[output - 1]): \(message)"
        return failure
    }

    private enum CodingKeys: String, CodingKey {
        case code, kind = "class", stage, message, stream, output, position, frame, libavName, libavText, hint, refusals
        case contradiction
    }
}
