public import Conversion

/// What failed in a source, a format or an output, and where.
///
/// Callers branch on `code` and `stage` only; `detail` and `hint` are for people and may be reworded.
public struct MediaError: Error, Sendable, Hashable {
    public var code: FailureCode
    public var stage: Failure.Stage
    /// What failed, as a sentence for people, without a full stop.
    public var detail: String
    /// The number of the affected stream in its container, if there is one.
    public var stream: Int?
    /// The number of the affected output, from 1, if there are several.
    public var output: Int?
    /// The position on the source's clock.
    public var position: MediaTime?
    /// The same position in frames of the source.
    public var frame: Int64?
    /// libav's name for the error, without its prefix: `INVALIDDATA`, `ENOSPC`. With `unable`, the word of
    /// `SourceFormat` for what may not be read.
    public var libavName: String?
    /// libav's text for the error and the last line that it logged on this thread.
    public var libavText: String?
    /// What to do next.
    public var hint: String?
    /// For a refused format, every field that does not fit.
    public var refusal: FormatRefusal?
    /// For a source that counts as damaged: what it promises, and what was found.
    public var contradiction: Contradiction?

    public init(
        _ code: FailureCode,
        at stage: Failure.Stage,
        _ detail: String,
        stream: Int? = nil,
        position: MediaTime? = nil,
        frame: Int64? = nil,
        hint: String? = nil
    ) {
        self.code = code
        self.stage = stage
        self.detail = detail
        self.stream = stream
        self.position = position
        self.frame = frame
        self.hint = hint ?? code.advice
    }
}

extension MediaError: CustomStringConvertible {
    public var description: String {
        var text = "\(code.rawValue) while \(stage.doing): \(detail)"
        if let position { text += " at \(position)" }
        if let frame { text += " (frame \(frame))" }
        if let stream { text += ", stream \(stream)" }
        if let output { text += ", output \(output)" }
        if let libavName { text += " [\(libavName)\(libavText.map { ": \($0)" } ?? "")]" }
        return text
    }
}

extension Failure.Stage {
    /// The stage as a verb: `opening`.
    var doing: String {
        switch self {
        case .open: "opening"
        case .probe: "probing"
        case .decode: "decoding"
        case .resample: "resampling"
        case .encode: "encoding"
        case .write: "writing"
        case .finish: "finishing"
        case .publish, .ledger, .lease, .release: rawValue
        }
    }
}
