/// What libav is shown of a long track: its first samples and its last ones as they are, and between them a few that
/// stand for thousands each.
///
/// The times of all that it is shown are the true ones. What libav makes of them, edit lists and priming included, is
/// what it would have made of all samples, as long as an edit neither begins nor ends among those that are not shown.
struct SampleStandIn {
    struct Sample {
        let place: Int64
        let size: Int64
        let duration: Int64
    }

    /// The number that the container gives the track.
    let trackID: Int64
    let tables: SampleTables
    /// The track's length by its own header, in ticks.
    let statedTicks: Int64
    /// The samples for which others stand.
    let hidden: Range<Int64>
    /// All that is shown, in order.
    let samples: [Sample]
    /// Where in `samples` those are that stand for others.
    let standIns: Range<Int>

    /// The least that a sample can have: libav may look at one, and should not read much then.
    private static let standInBytes: Int64 = 1
    /// More are too much to keep.
    private static let mostStandIns: Int64 = 4096

    /// `nil` where there is nothing to hide, or where times leap so far that hardly a sample could stand for another.
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
            // Step by step: each leap would look through the tables from their start again.
            while cursor.number < end { try cursor.advance() }
            // libav gives the same error when the file is opened.
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

    /// The four boxes that say so, together as long as the box whose place they take; `nil` where that is too short.
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
        // Each lies in a chunk of its own.
        begin("stsc", [1, 1, 1, 1], bytes: 28)
        begin("stsz", [0, count] + samples.map(\.size), bytes: 20 + 4 * count)
        // The last one takes up all that is left. Readers pass over what lies behind a table's entries.
        let rest = bytes - Int64(boxes.count)
        guard rest >= 16 + 8 * count else { return nil }
        begin("co64", [count], bytes: rest)
        for sample in samples { boxes += bigEndianBytes(sample.place, count: 8) }
        return boxes
    }
}
