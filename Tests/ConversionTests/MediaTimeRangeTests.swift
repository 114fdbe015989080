import Conversion
import Foundation
import Testing

@Suite struct MediaTimeRangeTests {
    private static func seconds(_ value: Int64) -> MediaTime { MediaTime(value: value, timescale: 1) }

    private static func range(_ start: Int64, _ end: Int64) throws -> MediaTimeRange {
        try MediaTimeRange(start: seconds(start), end: seconds(end))
    }

    // MARK: Making

    @Test func startAndDurationMakeTheSameRangeAsStartAndEnd() throws {
        let range = try MediaTimeRange(start: Self.seconds(2), duration: MediaTime(value: 3, timescale: 2))
        #expect(range.end == MediaTime(value: 7, timescale: 2))
        #expect(try range == MediaTimeRange(start: Self.seconds(2), end: MediaTime(value: 35, timescale: 10)))
        #expect(range.duration == MediaTime(value: 3, timescale: 2))
    }

    @Test func rangeRefusesToEndBeforeItStarts() {
        let byEnd = #expect(throws: MediaTimeRange.RangeError.self) { try Self.range(2, 1) }
        #expect(byEnd?.code == .endBeforeStart)
        let byDuration = #expect(throws: MediaTimeRange.RangeError.self) {
            try MediaTimeRange(start: Self.seconds(2), duration: MediaTime(value: -1, timescale: 48000))
        }
        #expect(byDuration?.code == .endBeforeStart)
    }

    @Test(arguments: [MediaTime.positiveInfinity, .negativeInfinity, .indefinite, .invalid])
    func rangeRefusesToStartAtWhatIsNotANumber(start: MediaTime) {
        for end in [start, Self.seconds(1), .positiveInfinity] {
            let error = #expect(throws: MediaTimeRange.RangeError.self) {
                try MediaTimeRange(start: start, end: end)
            }
            #expect(error?.code == .startNotANumber)
        }
    }

    @Test(arguments: [MediaTime.negativeInfinity, .indefinite, .invalid])
    func rangeRefusesAnEndThatIsNotInOrder(end: MediaTime) {
        let byEnd = #expect(throws: MediaTimeRange.RangeError.self) { try MediaTimeRange(start: .zero, end: end) }
        #expect(byEnd?.code == .endNotOrdered)
        let byDuration = #expect(throws: MediaTimeRange.RangeError.self) {
            try MediaTimeRange(start: .zero, duration: end)
        }
        #expect(byDuration?.code == .endNotOrdered)
    }

    @Test func rangeDoesNotBecomeOpenEndedByOverflow() {
        let error = #expect(throws: MediaTimeRange.RangeError.self) {
            try MediaTimeRange(start: Self.seconds(.max), duration: Self.seconds(1))
        }
        #expect(error?.code == .endNotOrdered)
    }

    // MARK: Ends

    @Test func rangeContainsItsStartAndNotItsEnd() throws {
        let range = try Self.range(1, 2)
        #expect(range.contains(Self.seconds(1)))
        #expect(range.contains(MediaTime(value: 95999, timescale: 48000)))
        #expect(!range.contains(Self.seconds(2)) && !range.contains(MediaTime(value: 44099, timescale: 44100)))
        #expect(!range.contains(.indefinite) && !range.contains(.invalid))
    }

    @Test func emptyRangeContainsNoTimeAndIsContainedEverywhere() throws {
        let empty = try Self.range(5, 5)
        #expect(empty.isEmpty && !empty.contains(Self.seconds(5)) && empty.duration == .zero)
        #expect(try Self.range(0, 1).contains(empty))
        #expect(try empty.intersection(Self.range(0, 10)) == nil)
        #expect(try empty.union(Self.range(0, 1)) == Self.range(0, 1))
        #expect(try Self.range(0, 1).union(empty) == Self.range(0, 1))
    }

    @Test func openEndedRangeGoesOnForEver() throws {
        let open = try MediaTimeRange(startingAt: Self.seconds(3))
        #expect(open.isOpenEnded && open.duration == .positiveInfinity)
        #expect(try open == MediaTimeRange(start: Self.seconds(3), duration: .positiveInfinity))
        #expect(open.contains(Self.seconds(.max)) && !open.contains(.positiveInfinity))
        #expect(!open.contains(.indefinite))
        #expect(try open.intersection(Self.range(0, 5)) == Self.range(3, 5))
        #expect(try open.union(Self.range(0, 1)) == MediaTimeRange(startingAt: .zero))
        #expect(try open.contains(Self.range(3, 9)) && !open.contains(Self.range(2, 9)))
        #expect(try !Self.range(3, 9).contains(open))
    }

    @Test func neighboursShareNoInstant() throws {
        let (first, second) = (try Self.range(0, 1), try Self.range(1, 2))
        #expect(first.intersection(second) == nil)
        #expect(try first.union(second) == Self.range(0, 2))
    }

    // MARK: Sets

    /// Compares ranges over 64 instants with sets of bits.
    @Test func rangesBehaveAsSetsOfInstants() throws {
        var generator = SeededGenerator(seed: 12)
        var failures = Counterexamples()
        for _ in 0..<50_000 {
            let (first, firstBits) = try Self.randomRange(&generator)
            let (second, secondBits) = try Self.randomRange(&generator)
            let instant = Int64(generator.below(64))
            let time = Self.instant(instant, factor: 3)

            let sharedBits = firstBits & secondBits
            let shared = first.intersection(second)
            let union = first.union(second)
            let holds =
                first.isEmpty == (firstBits == 0)
                && first.contains(time) == (firstBits >> UInt64(instant) & 1 == 1)
                && first.contains(second) == (secondBits & ~firstBits == 0)
                && shared.map(Self.bits) ?? 0 == sharedBits && shared?.isEmpty != true
                && Self.bits(union) == Self.span(firstBits | secondBits)
                && union.contains(first) && union.contains(second)
            failures.expect(holds, "\(first) \(second) \(time)")
        }
        #expect(failures.count == 0, "\(failures.first)")
    }

    /// The instant `index / 44100` seconds, in a timescale that is `factor` times finer.
    private static func instant(_ index: Int64, factor: Int64) -> MediaTime {
        MediaTime(value: index * factor, timescale: 44100 * Int32(factor))
    }

    private static func randomRange(_ generator: inout SeededGenerator) throws -> (MediaTimeRange, UInt64) {
        let (one, other) = (Int64(generator.below(64)), Int64(generator.below(64)))
        let range = try MediaTimeRange(
            start: instant(min(one, other), factor: 1 + Int64(generator.below(9))),
            end: instant(max(one, other), factor: 1 + Int64(generator.below(9)))
        )
        return (range, bits(range))
    }

    private static func bits(_ range: MediaTimeRange) -> UInt64 {
        let start = UInt64(range.start.value) / (UInt64(range.start.timescale) / 44100)
        let end = UInt64(range.end.value) / (UInt64(range.end.timescale) / 44100)
        return (1 << end) - (1 << start)
    }

    /// All bits from the lowest set bit to the highest.
    private static func span(_ bits: UInt64) -> UInt64 {
        guard bits != 0 else { return 0 }
        return (UInt64.max >> UInt64(bits.leadingZeroBitCount)) & (UInt64.max << UInt64(bits.trailingZeroBitCount))
    }

    // MARK: Text and coding

    @Test func rangesAreWrittenForPeople() throws {
        #expect(try Self.range(60, 90).description == "1:00..<1:30")
        #expect(try MediaTimeRange(startingAt: Self.seconds(60)).description == "1:00...")
    }

    @Test func rangesAreCodedByStartAndEnd() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let ranges = [try Self.range(1, 2), try MediaTimeRange(startingAt: MediaTime(value: 1, timescale: 44100))]
        let json = try encoder.encode(ranges)
        let expected = #"[{"end":"2/1","start":"1/1"},{"end":"+infinity","start":"1/44100"}]"#
        #expect(String(decoding: json, as: UTF8.self) == expected)
        #expect(try JSONDecoder().decode([MediaTimeRange].self, from: json) == ranges)
    }

    @Test(arguments: [
        #"{"start":"2","end":"1"}"#, #"{"start":"indefinite","end":"1"}"#, #"{"start":"0"}"#,
        #"{"start":"0","end":"invalid"}"#, #"{"start":"0","end":"1:60"}"#,
    ])
    func decodingRefusesWhatIsNotARange(json: String) {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(MediaTimeRange.self, from: Data(json.utf8))
        }
    }
}
