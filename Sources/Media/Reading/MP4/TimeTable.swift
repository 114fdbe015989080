/// What a track's `stts` says of all its samples together.
struct TimeTable {
    private(set) var samples: Int64 = 0
    private(set) var ticks: Int64 = 0
    /// Whether the ticks of every sample but the last are whole packets, and the last one has some.
    private(set) var isSteady = true
    /// Whether all samples last as long as each other, the last one included.
    let isUniform: Bool

    /// A table of more runs has a run for every sample, as only times have it that are no whole packets.
    private static let mostRuns: Int64 = 1 << 20
    /// Years of sound; nothing below overflows.
    private static let greatest: Int64 = 1 << 40

    /// Looks through the table in the `mdia` at `media`; `nil` where it cannot be read. Samples last a multiple of `unit`
    /// frames at `rate`, of which `scale` ticks make a second.
    init?(_ source: ByteSource, in media: Range<Int64>, unit: Int64, rate: Int64, scale: Int64) {
        guard let information = source.box("minf", in: media), let tables = source.box("stbl", in: information),
            let box = source.box("stts", in: tables), let head = source.bytes(at: box.lowerBound, count: 8),
            head.count == 8, case let runs = bigEndian(head[4..<8]), runs <= Self.mostRuns,
            let table = SampleTable(in: box, behind: 8, count: 2 * runs, width: 4)
        else { return nil }
        isUniform = runs == 1
        var window = TableWindow(table, of: source)
        for run in 0..<runs {
            // What cannot be read is met again where samples are.
            guard let count = try? window.number(2 * run), let length = try? window.number(2 * run + 1) else {
                return nil
            }
            // How long the last sample is was not known to the writer, and an edit may leave it out.
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
