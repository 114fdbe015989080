/// Totals from a track's `stts`.
struct TimeTable {
    private(set) var samples: Int64 = 0
    private(set) var ticks: Int64 = 0
    /// Whether every sample but the last lasts a whole number of packets, and the last lasts at least one tick.
    private(set) var isSteady = true
    /// Whether all samples, including the last, have the same duration.
    let isUniform: Bool

    /// A table with more runs has one run per sample, which happens only if durations are not whole packets.
    private static let mostRuns: Int64 = 1 << 20
    /// Years of sound. Below this, nothing overflows.
    private static let greatest: Int64 = 1 << 40

    /// Reads the table in the `mdia` at `media`; `nil` if that fails. Samples last a multiple of `unit` frames at
    /// `rate`; a second has `scale` ticks.
    init?(_ source: ByteSource, in media: Range<Int64>, unit: Int64, rate: Int64, scale: Int64) {
        guard let information = source.box("minf", in: media), let tables = source.box("stbl", in: information),
            let box = source.box("stts", in: tables), let head = source.bytes(at: box.lowerBound, count: 8),
            head.count == 8, case let runs = bigEndian(head[4..<8]), runs <= Self.mostRuns,
            let table = SampleTable(in: box, behind: 8, count: 2 * runs, width: 4)
        else { return nil }
        isUniform = runs == 1
        var window = TableWindow(table, of: source)
        for run in 0..<runs {
            // A read error here occurs again, and is reported, when samples are read.
            guard let count = try? window.number(2 * run), let length = try? window.number(2 * run + 1) else {
                return nil
            }
            // The writer did not know the duration of the last sample, and an edit may leave it out.
            if length == 0, run + 1 == runs {
                isSteady = false
                break
            }
            let isWhole = length * rate % scale == 0 && length * rate / scale % unit == 0 && length > 0
            if !isWhole, run + 1 < runs || count > 1 { isSteady = false }
            guard length == 0 || count < Self.greatest / length else { return nil }
            samples += count
            ticks += count * length
            guard ticks < Self.greatest, samples < Self.greatest else { return nil }
        }
    }
}
