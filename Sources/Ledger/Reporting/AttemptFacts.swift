public import Conversion

/// The measurements of an attempt, as far as they are known.
public struct AttemptFacts: Sendable, Hashable {
    public var slot: Int16?
    public var framesIn: Int64?
    public var framesOut: Int64?
    /// The length of the output's audio, to the millisecond.
    public var audio: Duration?
    /// Processor time, to the millisecond.
    public var cpu: Duration?
    public var peakBytes: Int64?
    /// The conversion's own report.
    public var report: ConversionReport?

    public init(
        slot: Int16? = nil,
        framesIn: Int64? = nil,
        framesOut: Int64? = nil,
        audio: Duration? = nil,
        cpu: Duration? = nil,
        peakBytes: Int64? = nil,
        report: ConversionReport? = nil
    ) {
        self.slot = slot
        self.framesIn = framesIn
        self.framesOut = framesOut
        self.audio = audio
        self.cpu = cpu
        self.peakBytes = peakBytes
        self.report = report
    }
}

/// The column `report` of an attempt: facts without a separate column.
struct AttemptReport: Codable, Sendable, Hashable {
    var conversion: ConversionReport?
    var refusals: [FormatRefusal.Reason]?

    /// As JSON; `nil` if it is empty.
    func json() throws -> JSON? { conversion == nil && refusals == nil ? nil : try JSON(self) }
}

extension Duration {
    /// Rounded to the nearest millisecond and clamped to 64 bits.
    var wholeMilliseconds: Int64 {
        let rounded = (self / .milliseconds(1)).rounded()
        return Int64(exactly: rounded) ?? (rounded < 0 ? .min : .max)
    }
}
