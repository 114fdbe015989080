/// The shortened tables of a long track that libav sees: the first and last samples unchanged, and between them a
/// few stand-ins for thousands of samples each.
///
/// All times in them are true. libav therefore derives the same edit lists and priming as from the full tables, as
/// long as no edit begins or ends among the hidden samples.
struct SampleStandIn {
    struct Sample {
        let place: Int64
        let size: Int64
        let duration: Int64
    }

    /// The track's id in the container.
    let trackID: Int64
    let tables: SampleTables
    /// The track's length in its own header, in ticks.
    let statedTicks: Int64
    /// The samples that stand-ins replace.
    let hidden: Range<Int64>
    /// All samples that libav sees, in order.
    let samples: [Sample]
    /// The indices of the stand-ins in `samples`.
    let standIns: Range<Int>

    /// The smallest size possible: libav may read a stand-in, and should then not read much.
    private static let standInBytes: Int64 = 1
    /// More stand-ins would take too much memory.
    private static let mostStandIns: Int64 = 4096

    /// `nil` if there is nothing to hide, or if samples last so long that a stand-in could replace hardly any.
    init?(for tables: SampleTables, ofTrack id: Int64, statedTicks: Int64, _ rules: SampleTableRules) throws {
        guard tables.sampleCount - rules.headSamples - rules.tailSamples >= 2 else { return nil }
        hidden = rules.headSamples..<(tables.sampleCount - rules.tailSamples)
        let (each, count) = (rules.longestStandIn / tables.longest, hidden.upperBound - hidden.lowerBound)
        guard each >= 2, (count - 1) / each < Self.mostStandIns, rules.headSamples > 0, rules.tailSamples > 0 else {
            return nil
        }
        (trackID, self.tables, self.statedTicks) = (id, tables, statedTicks)
        var samples: [Sample] = []
        var cursor = try SampleCursor(tables, at: 0)
        for _ in 0..<rules.headSamples {
            samples.append(Sample(place: cursor.place, size: cursor.size, duration: cursor.duration))
            try cursor.advance()
        }
        let first = samples.count
        while cursor.number < hidden.upperBound {
            let (place, time) = (cursor.place, cursor.time)
            let end = min(cursor.number + each, hidden.upperBound)
            // One step at a time: a jump would search the tables from their start again.
            while cursor.number < end { try cursor.advance() }
            // libav reports the same error when it opens the file.
            if tables.source.stop.isStopped { return nil }
            samples.append(Sample(place: place, size: Self.standInBytes, duration: cursor.time - time))
        }
        standIns = first..<samples.count
        for _ in 0..<rules.tailSamples {
            samples.append(Sample(place: cursor.place, size: cursor.size, duration: cursor.duration))
            try cursor.advance()
        }
        self.samples = samples
    }

    /// The four boxes with these samples, together as long as the box they replace; `nil` if that is too short.
    func boxes(inPlaceOf bytes: Int64) -> [UInt8]? {
        let count = Int64(samples.count)
        var boxes: [UInt8] = []
        func begin(_ name: String, _ entries: [Int64], bytes: Int64) {
            boxes += bigEndianBytes(bytes, count: 4) + Array(name.utf8) + bigEndianBytes(0, count: 4)
            for entry in entries { boxes += bigEndianBytes(entry, count: 4) }
        }
        var runs: [(count: Int64, ticks: Int64)] = []
        for sample in samples {
            if runs.last?.ticks == sample.duration {
                runs[runs.count - 1].count += 1
            } else {
                runs.append((1, sample.duration))
            }
        }
        begin("stts", [Int64(runs.count)] + runs.flatMap { [$0.count, $0.ticks] }, bytes: 16 + 8 * Int64(runs.count))
        // Each sample has its own chunk.
        begin("stsc", [1, 1, 1, 1], bytes: 28)
        begin("stsz", [0, count] + samples.map(\.size), bytes: 20 + 4 * count)
        // The last box takes all remaining bytes. Readers ignore data after a table's entries.
        let rest = bytes - Int64(boxes.count)
        guard rest >= 16 + 8 * count else { return nil }
        begin("co64", [count], bytes: rest)
        for sample in samples { boxes += bigEndianBytes(sample.place, count: 8) }
        return boxes
    }
}
