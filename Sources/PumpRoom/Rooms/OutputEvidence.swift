public import Conversion
import Media

/// What a worker has found of an output that a room says to have written.
public struct OutputEvidence: Sendable, Hashable {
    public var byteCount: Int64
    /// Whether some of it was never written. No format of ours leaves any out.
    public var hasHoles: Bool
    /// Whether the room can still write to it.
    public var hasWriters: Bool

    public init(byteCount: Int64, hasHoles: Bool, hasWriters: Bool) {
        self.byteCount = byteCount
        self.hasHoles = hasHoles
        self.hasWriters = hasWriters
    }
}

/// Why an output is not published.
public struct OutputObjection: Sendable, Hashable {
    public var failure: Failure
    /// Whether no room of ours would have delivered it: the room is not to be used any more.
    public var isLie: Bool

    public init(failure: Failure, isLie: Bool) {
        self.failure = failure
        self.isLie = isLie
    }
}

extension OutputEvidence {
    /// What is wrong with the output of which a room told in `report`; `nil` if nothing is. `limits` are the job's.
    public func objection(to report: ConversionReport, _ limits: Recipe.Limits) -> OutputObjection? {
        func lie(_ why: String) -> OutputObjection {
            var failure = Failure(.brokenProtocol, "the room was killed for its output: \(why)")
            failure.stage = MediaError.Stage.finish.rawValue
            return OutputObjection(failure: failure, isLie: true)
        }
        if hasWriters { return lie("it did not let go of the file that it had finished") }
        if byteCount != report.bytes { return lie("it told of \(report.bytes) bytes and wrote \(byteCount)") }
        if hasHoles { return lie("not all of its \(byteCount) bytes were written") }
        guard let limit = limits.outputBytes, byteCount > limit else { return nil }
        // The job itself looks before the last of it is written.
        let isLie = byteCount - limit > RoomConfiguration.unnoticedBytes
        return OutputObjection(failure: .tooLarge(byteCount, limit), isLie: isLie)
    }
}

extension Failure {
    fileprivate static func tooLarge(_ byteCount: Int64, _ limit: Int64) -> Failure {
        Failure(
            code: MediaError.Code.outputBytesExceeded.rawValue,
            kind: MediaError.Code.outputBytesExceeded.kind,
            stage: MediaError.Stage.finish.rawValue,
            message: "the output has \(byteCount) bytes, and may have \(limit)",
            hint: "raise outputBytes"
        )
    }

    /// For a job that used up its processor time and did not say so itself.
    static func overspent(_ seconds: Int, at last: ConversionProgress?) -> Failure {
        Failure(
            code: MediaError.Code.cpuExceeded.rawValue,
            kind: MediaError.Code.cpuExceeded.kind,
            stage: MediaError.Stage.decode.rawValue,
            message: "it took more than the \(seconds) s of processor time that it may take",
            position: last?.position,
            frame: last?.frames,
            hint: "raise cpuSeconds"
        )
    }
}
