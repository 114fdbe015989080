import Conversion
import FoundationEssentials

/// How often words occur. Keeps the first `most` different ones and counts the others together.
struct WordCounts: Sendable, Encodable {
    private let most: Int
    private(set) var counts: [String: Int] = [:]
    private(set) var others = 0

    init(most: Int) { self.most = most }

    mutating func add(_ word: String, _ count: Int = 1) {
        if counts[word] != nil || counts.count < most { counts[word, default: 0] += count } else { others += count }
    }

    /// The most frequent first.
    var sorted: [(word: String, count: Int)] {
        counts.map { ($0.key, $0.value) }.sorted { ($1.count, $0.word) < ($0.count, $1.word) }
    }

    private enum CodingKeys: String, CodingKey { case counts, others }
}

/// The entries with the largest ranks, the largest first; of equal ones, those that were added first.
struct TopList<Entry: Sendable>: Sendable {
    private let most: Int
    private var ranks: [Double] = []
    private(set) var entries: [Entry] = []
    /// How many entries were left out.
    private(set) var unlisted = 0

    init(most: Int) { self.most = most }

    mutating func add(_ rank: Double, _ entry: @autoclosure () -> Entry) {
        if entries.count == most {
            unlisted += 1
            guard let last = ranks.last, rank > last else { return }
            ranks.removeLast()
            entries.removeLast()
        }
        var (low, high) = (0, ranks.count)
        while low < high {
            let middle = (low + high) / 2
            if ranks[middle] < rank { high = middle } else { low = middle + 1 }
        }
        ranks.insert(rank, at: low)
        entries.insert(entry(), at: low)
    }
}

/// How many jobs ended in each part of the time that a batch took. The parts become longer as it goes on, so that there
/// are never more than `mostParts`.
struct EndedOverTime: Sendable, Encodable {
    static let mostParts = 96

    private(set) var secondsPerPart = 1.0
    private var ended: [Int64: Int] = [:]
    private var failed: [Int64: Int] = [:]
    private var range: ClosedRange<Int64>?

    mutating func add(_ date: Date, failed isFailure: Bool) {
        let seconds = date.timeIntervalSince1970
        // A year that no calendar has.
        guard abs(seconds) < 1e12 else { return }
        var part = Int64((seconds / secondsPerPart).rounded(.down))
        var whole = range.map { min($0.lowerBound, part)...max($0.upperBound, part) } ?? part...part
        while whole.upperBound - whole.lowerBound >= Int64(Self.mostParts) {
            secondsPerPart *= 2
            // An arithmetic shift rounds down, as the division above does.
            (ended, failed) = (Self.halved(ended), Self.halved(failed))
            whole = (whole.lowerBound >> 1)...(whole.upperBound >> 1)
            part >>= 1
        }
        range = whole
        ended[part, default: 0] += 1
        if isFailure { failed[part, default: 0] += 1 }
    }

    private static func halved(_ counts: [Int64: Int]) -> [Int64: Int] {
        Dictionary(counts.map { ($0.key >> 1, $0.value) }, uniquingKeysWith: +)
    }

    var startsAt: Date? { range.map { Date(timeIntervalSince1970: Double($0.lowerBound) * secondsPerPart) } }

    /// A count for each part, of jobs that ended and of those that failed.
    var parts: [(ended: Int, failed: Int)] { range.map { $0.map { (ended[$0] ?? 0, failed[$0] ?? 0) } } ?? [] }

    private enum CodingKeys: String, CodingKey { case startsAt, secondsPerPart, ended, failed }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(startsAt, forKey: .startsAt)
        try container.encode(secondsPerPart, forKey: .secondsPerPart)
        try container.encode(parts.map(\.ended), forKey: .ended)
        try container.encode(parts.map(\.failed), forKey: .failed)
    }
}

/// How levels are spread, in parts of one LU around the whole numbers.
struct LevelSpread: Sendable, Encodable {
    /// Beyond these, levels count as one of them.
    static let limits: ClosedRange<Double> = -70...9.9

    private(set) var files = 0
    private(set) var lowestLUFS: Double?
    private(set) var highestLUFS: Double?
    /// In tenths, for the median.
    private var tenths = [Int](repeating: 0, count: 800)

    mutating func add(_ level: Double) {
        guard level.isFinite else { return }
        let clamped = min(max(level, Self.limits.lowerBound), Self.limits.upperBound)
        files += 1
        lowestLUFS = min(lowestLUFS ?? level, level)
        highestLUFS = max(highestLUFS ?? level, level)
        tenths[min(tenths.count - 1, Int(((clamped - Self.limits.lowerBound) * 10).rounded()))] += 1
    }

    /// Half of the files are at most as loud, to a tenth.
    var medianLUFS: Double? {
        guard files > 0 else { return nil }
        var below = 0
        for (place, count) in tenths.enumerated() {
            below += count
            if below * 2 >= files { return (Self.limits.lowerBound * 10 + Double(place)) / 10 }
        }
        return highestLUFS
    }

    /// How many files are nearer to `lufs` than to another whole number.
    func files(at lufs: Int) -> Int {
        let first = (lufs - Int(Self.limits.lowerBound)) * 10 - 5
        return (first..<first + 10).reduce(0) { $0 + (tenths.indices.contains($1) ? tenths[$1] : 0) }
    }

    /// The whole numbers between which the levels are; `nil` without any.
    var range: ClosedRange<Int>? {
        guard let lowestLUFS, let highestLUFS else { return nil }
        func whole(_ level: Double) -> Int {
            // By tenths, as they are counted; halves are rounded up there.
            let tenths = (min(max(level, Self.limits.lowerBound), Self.limits.upperBound) * 10).rounded()
            return Int(((tenths + 5) / 10).rounded(.down))
        }
        return whole(lowestLUFS)...whole(highestLUFS)
    }

    private enum CodingKeys: String, CodingKey { case files, lowestLUFS, medianLUFS, highestLUFS, firstLUFS, counts }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(files, forKey: .files)
        try container.encodeIfPresent(lowestLUFS, forKey: .lowestLUFS)
        try container.encodeIfPresent(medianLUFS, forKey: .medianLUFS)
        try container.encodeIfPresent(highestLUFS, forKey: .highestLUFS)
        try container.encodeIfPresent(range?.lowerBound, forKey: .firstLUFS)
        try container.encode(range.map { $0.map(files(at:)) } ?? [], forKey: .counts)
    }
}

extension FixedWidthInteger {
    /// Adds a number that another program reported, which may be any: the sum ends at the limits of the type.
    mutating func add(reported number: Self) {
        let (sum, overflows) = addingReportingOverflow(number)
        self = overflows ? (number < 0 ? .min : .max) : sum
    }
}
