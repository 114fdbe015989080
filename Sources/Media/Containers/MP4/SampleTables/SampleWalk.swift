/// Produces the packets of a track when libav saw only the ends of its sample tables. libav reads the first packets
/// from the start of the file; this class makes all others exactly as libav would.
///
/// Packets are numbered as in libav's index, had it seen all samples. Those at the start and the end are entries of
/// that index, with edit lists applied; those in between are counted from the tables.
final class SampleWalk {
    private let stream: InputStream
    private let tables: SampleTables
    /// The samples that were hidden from libav.
    private let hidden: Range<Int64>
    /// The entries of libav's index that stand in for them.
    private let standIns: Range<Int>
    private let entryCount: Int
    /// The times on libav's clock at which the first hidden sample begins, and the first sample after the hidden ones.
    private let hiddenStart: Int64
    private let hiddenEnd: Int64
    /// `hiddenStart` in ticks since the first sample of the tables.
    private let hiddenTicks: Int64
    /// How far libav moves a seek target back: it treats the target as a time on the clock before the edit list.
    private let seekOffset: Int64
    /// Packets that libav has yet to deliver.
    private var left: Int
    private var next: Int
    private var cursor: SampleCursor?

    /// The number of packets before the hidden samples, up to the end of the hidden samples, and in all.
    private var headEnd: Int { standIns.lowerBound }
    private var hiddenEndNumber: Int { headEnd + hidden.count }
    private var end: Int { hiddenEndNumber + entryCount - standIns.upperBound }

    /// `nil` unless libav's index shows that it read all samples as intended, and no edit touches the stand-in samples.
    init?(_ standIn: SampleStandIn, _ stream: InputStream, _ rules: SampleTableRules) throws {
        guard let standIns = Self.standIns(of: standIn, in: stream, rules) else { return nil }
        self.stream = stream
        self.standIns = standIns
        (tables, hidden) = (standIn.tables, standIn.hidden)
        entryCount = stream.indexEntries
        guard let first = Self.entry(standIns.lowerBound, of: stream),
            let behind = Self.entry(standIns.upperBound, of: stream)
        else { return nil }
        (hiddenStart, hiddenEnd) = (first.timestamp, behind.timestamp)
        hiddenTicks = try SampleCursor(tables, at: hidden.lowerBound).time
        seekOffset = Self.seekOffset(of: stream, upTo: standIns.lowerBound)
        left = standIns.lowerBound
        next = standIns.lowerBound
        guard mendBitRate(standIn) else { return nil }
    }

    /// Computed as in `mov_fix_index`: from the start of the edit's visible part to the first packet that is wholly
    /// visible. Right after opening, a stream with edits starts where they do.
    private static func seekOffset(of stream: InputStream, upTo last: Int) -> Int64 {
        guard let start = stream.startTime else { return 0 }
        for number in 0...last {
            guard let entry = entry(number, of: stream) else { return 0 }
            if !entry.isDiscarded, entry.timestamp >= start { return entry.timestamp - start }
        }
        return 0
    }

    /// An entry of libav's own index; `nil` if the index has no such entry, or its time is impossible.
    private static func entry(_ number: Int, of stream: InputStream) -> IndexEntry? {
        stream.indexEntry(number).flatMap { Plausible.ticks($0.timestamp) == nil ? nil : $0 }
    }

    // MARK: Checking the index

    /// The range of the stand-in samples in libav's index; `nil` if it is not certain that all
    /// other samples are in their places.
    private static func standIns(
        of standIn: SampleStandIn,
        in stream: InputStream,
        _ rules: SampleTableRules
    ) -> Range<Int>? {
        guard stream.codec.packets.exactTables.contains(.samples),
            let ticksPerSecond = stream.ticksPerSecond, let duration = stream.duration
        else { return nil }
        let count = stream.indexEntries
        // libav's index omits samples long before the first edit.
        for dropped in 0..<standIn.standIns.lowerBound {
            let place = (standIn.standIns.lowerBound - dropped)..<(standIn.standIns.upperBound - dropped)
            guard let found = entry(place.lowerBound, of: stream),
                agrees(found, with: standIn.samples[standIn.standIns.lowerBound])
            else { continue }
            guard count > place.upperBound, dropped + count <= standIn.samples.count, let first = entry(0, of: stream),
                let last = entry(count - 1, of: stream), duration > last.timestamp,
                found.timestamp - first.timestamp >= rules.headSeconds * ticksPerSecond
            else { return nil }
            for number in 0..<count {
                let sample = standIn.samples[dropped + number]
                guard let this = entry(number, of: stream), agrees(this, with: sample) else { return nil }
                // From the last sample before the stand-ins to the first after them, all samples must be audible.
                let isNear = (place.lowerBound - 1...place.upperBound).contains(number)
                if isNear, this.isDiscarded { return nil }
                guard number >= place.lowerBound - 1, number + 1 < count else { continue }
                guard entry(number + 1, of: stream)?.timestamp == this.timestamp + sample.duration else { return nil }
            }
            return place
        }
        return nil
    }

    private static func agrees(_ entry: IndexEntry, with sample: SampleStandIn.Sample) -> Bool {
        entry.place == sample.place && Int64(entry.byteCount) == sample.size && entry.isKey
    }

    /// Replaces the bit rate that libav computed from the bytes it saw with that of all bytes. `false` if libav's
    /// bit rate has another origin.
    private func mendBitRate(_ standIn: SampleStandIn) -> Bool {
        guard let scale = stream.ticksPerSecond.map(UInt64.init) else { return false }
        let ticks = UInt64(min(standIn.statedTicks, tables.ticks))
        func rate(_ bytes: Int64) -> Int64 { Int64(bitPattern: UInt64(bytes) &* 8 &* scale / ticks) }
        guard stream.statedBitRate == rate(standIn.samples.reduce(0) { $0 + $1.size }) else { return false }
        stream.statedBitRate = rate(tables.sampleBytes)
        return true
    }

    // MARK: Reading

    /// Whether packets now come from this class, not from libav.
    var isUnderWay: Bool { left == 0 }

    /// Notes a packet from libav. Returns `false` if it is a stand-in that must not be used.
    func noteGiven(_ packet: borrowing Packet) -> Bool {
        if let time = packet.timestamp, time >= hiddenStart {
            left = 0
            return false
        }
        noteMissing()
        return true
    }

    /// Notes that libav reached the end of the source instead of a packet, which it skips.
    func noteMissing() { left = max(0, left - 1) }

    /// Fills `packet` with the next one. Returns `false` at the end, and if the source ends before the packet.
    func read(into packet: inout Packet, from source: PlacedPackets) throws -> Bool {
        packet.clear()
        guard next < end else { return false }
        let entry = try entry(next)
        let (answer, isPassed) = source.read(&packet, at: entry.place, entry.size)
        if isPassed { next += 1 }
        switch answer {
        case .ended: return false
        case .failed(let error): throw error
        case .filled: break
        }
        packet.setOrigin(stream: stream.index, place: entry.place, isDiscarded: entry.isDiscarded)
        packet.setTime(entry.time)
        packet.duration = entry.duration
        return true
    }

    private struct Entry {
        let place: Int64
        let size: Int32
        let time: Int64
        let duration: Int64
        var isDiscarded = false
    }

    private func entry(_ number: Int) throws -> Entry {
        if (headEnd..<hiddenEndNumber).contains(number) {
            let sample = hidden.lowerBound + Int64(number - headEnd)
            try move(to: sample)
            return Entry(
                place: cursor!.place,
                size: Int32(truncatingIfNeeded: cursor!.size),
                time: hiddenStart + cursor!.time - hiddenTicks,
                duration: cursor!.duration
            )
        }
        guard let entry = Self.entry(indexNumber(number), of: stream) else { throw LibAVError.invalid("av_read_frame") }
        let following = number + 1 < end ? try time(number + 1) : stream.duration ?? entry.timestamp
        return Entry(
            place: entry.place,
            size: Int32(entry.byteCount),
            time: entry.timestamp,
            duration: max(0, following - entry.timestamp),
            isDiscarded: entry.isDiscarded
        )
    }

    private func move(to sample: Int64) throws {
        if cursor == nil { cursor = try SampleCursor(tables, at: sample) }
        if cursor!.number + 1 == sample {
            try cursor!.advance()
        } else if cursor!.number != sample {
            try cursor!.move(to: sample)
        }
    }

    // MARK: Searching

    /// Converts a packet number to the number in libav's index, for a packet that libav saw.
    private func indexNumber(_ number: Int) -> Int {
        number < headEnd ? number : number - hidden.count + standIns.count
    }

    private func time(_ number: Int) throws -> Int64 {
        if number == headEnd { return hiddenStart }
        if (headEnd..<hiddenEndNumber).contains(number) { return try entry(number).time }
        guard let entry = Self.entry(indexNumber(number), of: stream) else { throw LibAVError.invalid("av_seek_frame") }
        return entry.timestamp
    }

    /// The last packet that begins at or before `time`; negative if there is none.
    private func search(_ time: Int64) throws -> Int {
        if (hiddenStart..<hiddenEnd).contains(time) {
            let found = try tables.sample(at: time - hiddenStart + hiddenTicks)
            return headEnd + Int(found.number - hidden.lowerBound)
        }
        let found = stream.lastIndexEntry(upTo: time)
        return found < standIns.upperBound ? found : found + hidden.count - standIns.count
    }

    /// Answers like `InputStream.indexedTime` for an index that holds all samples.
    func indexedTime(from first: Int64, upTo last: Int64, inStepsOf step: Int64?) throws -> Int64? {
        let (from, to) = (try search(first), try search(last))
        guard from >= 0, to > from, try time(from) == first else { return nil }
        var (number, before) = (from, first)
        while number < to {
            if (headEnd..<hiddenEndNumber).contains(number) {
                // In the tables, times always rise.
                let end = min(to, hiddenEndNumber)
                let samples = (hidden.lowerBound + Int64(number - headEnd))..<(hidden.lowerBound + Int64(end - headEnd))
                if let step, try !tables.areAll(samples, lasting: step) { return nil }
                (number, before) = (end, try time(end))
                continue
            }
            number += 1
            let time = try time(number)
            let isHidden = (headEnd..<hiddenEndNumber).contains(number)
            let isDiscarded = try !isHidden && entry(number).isDiscarded
            guard time > before, !isDiscarded, step == nil || time - before == step else { return nil }
            before = time
        }
        return before
    }

    /// Seeks to the last packet at or before `time`, or a little earlier, as libav does. From here on,
    /// all packets come from this class.
    func seek(to time: Int64) throws {
        next = max(0, try search(time.addingSaturated(-seekOffset)))
        left = 0
    }
}
