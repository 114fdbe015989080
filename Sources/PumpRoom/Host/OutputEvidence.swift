public import Conversion

/// What a worker has found out about an output that a room reports as written.
public struct OutputEvidence: Sendable, Hashable {
    public var byteCount: Int64
    /// Whether parts of the file were never written. No format that we write leaves any out.
    public var hasHoles: Bool
    /// Whether a process can still write to the file.
    public var hasWriters: Bool

    public init(byteCount: Int64, hasHoles: Bool, hasWriters: Bool) {
        self.byteCount = byteCount
        self.hasHoles = hasHoles
        self.hasWriters = hasWriters
    }
}

/// Why an output must not be published.
public struct OutputObjection: Sendable, Hashable {
    public var failure: Failure
    /// Whether an honest room could not have delivered it. The slot must then stop using the room.
    public var isLie: Bool

    public init(failure: Failure, isLie: Bool) {
        self.failure = failure
        self.isLie = isLie
    }
}

extension OutputEvidence {
    /// What is wrong with the output that `report` describes; `nil` if nothing is. `limits` are the job's.
    public func objection(to report: ConversionReport, _ limits: Recipe.Limits) -> OutputObjection? {
        func lie(_ why: String) -> OutputObjection {
            let failure = Failure(
                .roomProtocol,
                at: .finish,
                "the room was killed because its output is not what it reported: \(why)"
            )
            return OutputObjection(failure: failure, isLie: true)
        }
        if hasWriters { return lie("it still has the finished file open for writing") }
        if byteCount != report.bytes {
            return lie("it reported \(Plural.count(report.bytes, "byte")), but wrote \(byteCount)")
        }
        if hasHoles { return lie("parts of the \(Plural.count(byteCount, "byte")) were never written") }
        guard let limit = limits.outputBytes, byteCount > limit else { return nil }
        // The job checks its limit before the end of the output is written, so an honest room
        // exceeds it by at most `unnoticedBytes`.
        let isLie = byteCount - limit > RoomConfiguration.unnoticedBytes
        return OutputObjection(failure: .tooLarge(byteCount, limit), isLie: isLie)
    }
}

extension Failure {
    fileprivate static func tooLarge(_ byteCount: Int64, _ limit: Int64) -> Failure {
        Failure(
            .outputBytesExceeded,
            at: .finish,
            "the output has \(Plural.count(byteCount, "byte")); the limit is \(limit)"
        )
    }

    /// The failure of a job that exceeded its processor time and did not report it itself.
    static func overspent(_ seconds: Int, at last: ConversionProgress?) -> Failure {
        Failure(
            .cpuExceeded,
            at: .decode,
            "the job exceeded its limit of \(seconds) s of CPU time",
            position: last?.position,
            frame: last?.frames
        )
    }
}
