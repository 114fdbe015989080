public import Conversion

/// What an attempt did and cost, as far as is known.
public struct AttemptFacts: Sendable, Hashable {
    public var slot: Int16?
    public var framesIn: Int64?
    public var framesOut: Int64?
    /// Sound in the output, to the millisecond.
    public var audio: Duration?
    /// Processor time, to the millisecond.
    public var cpu: Duration?
    public var peakBytes: Int64?
    /// What the conversion had to say of itself.
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

/// The column `report` of an attempt: what has no column of its own.
struct AttemptReport: Codable, Sendable, Hashable {
    var conversion: ConversionReport?
    var refusals: [FormatRefusal.Reason]?

    /// As JSON; `nil` if there is nothing to say.
    func json() throws -> JSON? { conversion == nil && refusals == nil ? nil : try JSON(self) }
}

extension Duration {
    /// Rounded to the nearest; the nearest that 64 bits hold.
    var wholeMilliseconds: Int64 {
        let rounded = (self / .milliseconds(1)).rounded()
        return Int64(exactly: rounded) ?? (rounded < 0 ? .min : .max)
    }
}
