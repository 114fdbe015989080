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
    /// The conversion's own report, on the first output that it made.
    public var report: ConversionReport?
    /// Its reports on the outputs after that.
    public var further: [ConversionReport]
    /// The numbers in the recipe, from 1, of the outputs that the reports are on; empty if these are all outputs.
    public var outputNumbers: [Int] = []
    /// What a scan has found.
    public var scan: ScanReport?

    /// The report on the first output, with the remarks on all of them.
    public var reportOnAll: ConversionReport? {
        var all = report
        if !further.isEmpty { all?.remarks = ((report?.remarks ?? []) + further.flatMap(\.remarks)).withoutRepetitions }
        return all
    }

    /// A line for each output that a spec has accepted: `acx: accepted, RMS -20.1 dBFS`. If the recipe has several
    /// outputs, each begins with its number there.
    public var specLines: [String] {
        let reports = [report].compactMap(\.self) + further
        let isOneOfSeveral = reports.count > 1 || !outputNumbers.isEmpty
        return reports.enumerated().compactMap { index, report in
            let number = outputNumbers.indices.contains(index) ? outputNumbers[index] : index + 1
            return report.spec.map { isOneOfSeveral ? "output \(number): \($0.line)" : $0.line }
        }
    }

    public init(
        slot: Int16? = nil,
        framesIn: Int64? = nil,
        framesOut: Int64? = nil,
        audio: Duration? = nil,
        cpu: Duration? = nil,
        peakBytes: Int64? = nil,
        report: ConversionReport? = nil,
        further: [ConversionReport] = [],
        scan: ScanReport? = nil
    ) {
        self.slot = slot
        self.framesIn = framesIn
        self.framesOut = framesOut
        self.audio = audio
        self.cpu = cpu
        self.peakBytes = peakBytes
        self.report = report
        self.further = further
        self.scan = scan
    }
}

/// The column `report` of an attempt: facts without a separate column.
struct AttemptReport: Codable, Sendable, Hashable {
    var conversion: ConversionReport?
    /// The reports on further outputs.
    var further: [ConversionReport]?
    /// Which outputs of the recipe they are on, if these are not all.
    var outputNumbers: [Int]?
    var refusals: [FormatRefusal.Reason]?
    var contradiction: Contradiction?
    var scan: ScanReport?

    init() {}

    /// `failure` is that of the attempt, if it failed.
    init(_ facts: AttemptFacts, _ failure: Failure? = nil) {
        conversion = facts.report
        further = facts.further.isEmpty ? nil : facts.further
        outputNumbers = facts.outputNumbers.isEmpty ? nil : facts.outputNumbers
        (refusals, contradiction) = (failure?.refusals, failure?.contradiction)
        scan = facts.scan
    }

    /// As JSON; `nil` if it is empty.
    func json() throws -> JSON? { self == AttemptReport() ? nil : try JSON(self) }
}

extension Duration {
    /// Rounded to the nearest millisecond and clamped to 64 bits.
    var wholeMilliseconds: Int64 {
        let rounded = (self / .milliseconds(1)).rounded()
        return Int64(exactly: rounded) ?? (rounded < 0 ? .min : .max)
    }
}
