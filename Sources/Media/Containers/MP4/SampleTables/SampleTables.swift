/// The tables that state size, time and place of every sample of a track.
///
/// They are consistent: each describes exactly `sampleCount` samples. Inconsistent tables are rejected.
struct SampleTables {
    let source: ByteSource
    /// `stsz`: the size of each sample in bytes.
    let sizes: SampleTable
    /// `stts`: runs of samples with the same duration (count and ticks).
    let runs: SampleTable
    /// `stsc`: runs of chunks with the same number of samples (first chunk, samples per chunk, description).
    let chunkRuns: SampleTable
    /// `stco` or `co64`: where each chunk begins.
    let offsets: SampleTable
    let sampleCount: Int64
    let sampleBytes: Int64
    let ticks: Int64
    /// The duration of the longest sample in ticks.
    let longest: Int64

    var runCount: Int64 { runs.count / 2 }
    var chunkRunCount: Int64 { chunkRuns.count / 3 }

    /// The contents of the four boxes.
    struct Boxes {
        var sizes: Range<Int64>
        var runs: Range<Int64>
        var chunkRuns: Range<Int64>
        var offsets: Range<Int64>
        var offsetsAreWide: Bool
    }

    /// Reads through all the tables in `boxes`. `nil` if they are not plain or contradict each other, or if the
    /// number of samples is not in `wanted`.
    init?(_ boxes: Boxes, in source: ByteSource, samples wanted: ClosedRange<Int64>) throws {
        guard let sizeHead = source.bytes(at: boxes.sizes.lowerBound, count: 12), sizeHead.count == 12,
            // PCM uses one size for all samples, and libav makes packets of them by its own rules.
            bigEndian(sizeHead[4..<8]) == 0, case let count = bigEndian(sizeHead[8..<12]), wanted.contains(count),
            let sizes = SampleTable(in: boxes.sizes, behind: 12, count: count, width: 4),
            let runs = Self.table(source, boxes.runs, columns: 2, width: 4),
            let chunkRuns = Self.table(source, boxes.chunkRuns, columns: 3, width: 4),
            let offsets = Self.table(source, boxes.offsets, columns: 1, width: boxes.offsetsAreWide ? 8 : 4),
            let times = try Self.times(TableWindow(runs, of: source), entries: runs.count / 2, samples: count),
            try Self.chunksHold(count, TableWindow(chunkRuns, of: source), chunkRuns.count / 3, of: offsets.count),
            try Self.arePlaces(TableWindow(offsets, of: source), offsets),
            let bytes = try Self.sum(TableWindow(sizes, of: source), count)
        else { return nil }
        self.source = source
        (self.sizes, self.runs, self.chunkRuns, self.offsets) = (sizes, runs, chunkRuns, offsets)
        (sampleCount, sampleBytes) = (count, bytes)
        (ticks, longest) = (times.ticks, times.longest)
    }

    /// The table after version, flags and the number of its entries.
    private static func table(_ source: ByteSource, _ box: Range<Int64>, columns: Int64, width: Int) -> SampleTable? {
        guard let head = source.bytes(at: box.lowerBound, count: 8), head.count == 8 else { return nil }
        return SampleTable(in: box, behind: 8, count: bigEndian(head[4..<8]) * columns, width: width)
    }

    // MARK: Checking

    /// `nil` unless each of `samples` lasts at least one tick. libav repairs longer durations by guessing.
    private static func times(
        _ window: consuming TableWindow,
        entries: Int64,
        samples: Int64
    ) throws -> (ticks: Int64, longest: Int64)? {
        var (counted, ticks, longest) = (Int64(0), Int64(0), Int64(0))
        for entry in 0..<entries {
            let (count, length) = (try window.number(2 * entry), try window.number(2 * entry + 1))
            guard count > 0, length > 0, length < 1 << 31, count <= samples - counted else { return nil }
            counted += count
            ticks += count * length
            longest = max(longest, length)
        }
        // Samples of one tick each are PCM.
        return counted == samples && longest > 1 ? (ticks, longest) : nil
    }

    /// Whether the chunks, in order, hold exactly `samples`, all under the first description.
    private static func chunksHold(
        _ samples: Int64,
        _ window: consuming TableWindow,
        _ entries: Int64,
        of chunks: Int64
    ) throws -> Bool {
        guard try window.number(0) == 1 else { return false }
        var (first, counted) = (Int64(1), Int64(0))
        for entry in 0..<entries {
            let (inEach, description) = (try window.number(3 * entry + 1), try window.number(3 * entry + 2))
            let next = entry + 1 < entries ? try window.number(3 * entry + 3) : chunks + 1
            guard inEach > 0, inEach <= samples, description == 1, next > first, next <= chunks + 1,
                next - first <= samples, (next - first) * inEach <= samples - counted
            else { return false }
            counted += (next - first) * inEach
            first = next
        }
        return counted == samples && first == chunks + 1
    }

    /// Whether all offsets are valid. 32-bit offsets always are.
    private static func arePlaces(_ window: consuming TableWindow, _ offsets: SampleTable) throws -> Bool {
        if offsets.width == 8 { for chunk in 0..<offsets.count { _ = try window.number(chunk) } }
        return true
    }

    /// Sizes in libav's index have thirty bits, one of which is the sign.
    private static let greatestSize: Int64 = 1 << 29

    /// The sum of all sizes; `nil` if a sample is empty or larger than libav allows.
    private static func sum(_ window: consuming TableWindow, _ count: Int64) throws -> Int64? {
        var bytes: Int64 = 0
        for sample in 0..<count {
            let size = try window.number(sample)
            guard size > 0, size < greatestSize else { return nil }
            bytes += size
        }
        return bytes
    }
}

// MARK: - Times

extension SampleTables {
    /// The last sample that begins at or before `time`, in ticks since the first sample, and when it begins.
    func sample(at time: Int64) throws -> (number: Int64, time: Int64) {
        var window = TableWindow(runs, of: source)
        var (number, ticks) = (Int64(0), Int64(0))
        for run in 0..<runCount {
            let (count, length) = try self.run(run, &window)
            guard count <= sampleCount - number else { throw LibAVError.invalid("sample tables") }
            if time < ticks + count * length || run + 1 == runCount {
                let inside = min(max(0, time - ticks) / length, count - 1)
                return (number + inside, ticks + inside * length)
            }
            number += count
            ticks += count * length
        }
        throw LibAVError.invalid("sample tables")
    }

    /// Whether each of `samples` lasts `ticks`.
    func areAll(_ samples: Range<Int64>, lasting ticks: Int64) throws -> Bool {
        var window = TableWindow(runs, of: source)
        var (number, run) = (Int64(0), Int64(0))
        while number < samples.upperBound {
            let (count, length) = try self.run(run, &window)
            if number + count > samples.lowerBound, length != ticks { return false }
            number += count
            run += 1
        }
        return true
    }

    /// The number of samples in a run, and the ticks of each. Throws if the file has changed since it was checked.
    func run(_ run: Int64, _ window: inout TableWindow) throws -> (count: Int64, length: Int64) {
        let (count, length) = (try window.number(2 * run), try window.number(2 * run + 1))
        guard count > 0, count <= sampleCount, length > 0 else { throw LibAVError.invalid("sample tables") }
        return (count, length)
    }
}
