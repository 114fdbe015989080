import Conversion
import Foundation
import Testing

@testable import Console

/// Human-readable times, parsed and printed.
struct MomentTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    @Test(arguments: [
        ("0", 0), ("90", 90), ("90s", 90), ("5min", 300), ("5m", 300), ("2h", 7_200), ("3d", 259_200), ("1w", 604_800),
    ])
    func lengthsOfTimeAreRead(text: String, seconds: Int) throws {
        #expect(try ValueType<Duration>.duration.read(text) == .seconds(seconds))
    }

    @Test(arguments: ["", "h", "-5", "1.5h", "5 min", "5y", "99999999999s"])
    func othersAreRefused(text: String) {
        #expect(throws: Misfit.self) { try ValueType<Duration>.duration.read(text) }
    }

    @Test(arguments: [
        ("2026-11-20T09:30:00Z", 1_795_167_000), ("2026-11-20T10:30+01:00", 1_795_167_000),
        ("2026-11-20 04:00:00-0530", 1_795_167_000), ("2024-02-29T00:00Z", 1_709_164_800),
    ])
    func datesAreRead(text: String, seconds: Int) throws {
        #expect(try ValueType<Moment>.moment.read(text) == .date(Date(timeIntervalSince1970: Double(seconds))))
    }

    @Test func datesWithoutAZoneAreThisMachines() throws {
        guard case .date(let date) = try ValueType<Moment>.moment.read("2026-11-20") else {
            return #expect(Bool(false), "a date is a date")
        }
        let parts = Calendar.current.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
        #expect(parts == DateComponents(year: 2026, month: 11, day: 20, hour: 0, minute: 0, second: 0))
    }

    @Test(arguments: [
        "tomorrow", "2026-13-01", "2026-02-30", "2023-02-29T00:00Z", "2026-11-20T25:00", "2026-11-20T09", "2026-11-20Z",
        "2026-11-20T09:30+1", "20261120", "2026-11-20T09:30:00Zx",
    ])
    func datesThatAreNoneAreRefused(text: String) {
        #expect(throws: Misfit.self) { try ValueType<Moment>.moment.read(text) }
    }

    @Test func distancesGoBothWays() {
        #expect(Moment.distance(.seconds(60)).past(from: now) == now.addingTimeInterval(-60))
        #expect(Moment.distance(.seconds(60)).future(from: now) == now.addingTimeInterval(60))
        #expect(Moment.date(now).past(from: .distantPast) == now)
    }

    @Test(arguments: [
        (-5.0, "just now"), (9.9, "just now"), (10, "10 s ago"), (59.9, "59 s ago"), (60, "1 min ago"),
        (3_599, "59 min ago"), (3_600, "1 h ago"), (86_399, "23 h ago"), (86_400, "1 d ago"),
        (432_000_000, "5,000 d ago"),
    ])
    func pastIsToldInOneUnit(seconds: Double, text: String) {
        #expect(TimeWords.ago(now.addingTimeInterval(-seconds), at: now) == text)
    }

    @Test func futureIsToldToo() {
        #expect(TimeWords.ahead(now, at: now) == "now")
        #expect(TimeWords.ahead(now.addingTimeInterval(125), at: now) == "in 2 min")
    }

    @Test func wordsOfAShellAreQuotedWhereNeedBe() {
        #expect(ShellWord.quoted("in:a/b-1.wav") == "in:a/b-1.wav")
        #expect(ShellWord.quoted("a b") == "'a b'")
        #expect(ShellWord.quoted("it's") == #"'it'\''s'"#)
        // A combining mark after the quote does not hide it.
        #expect(ShellWord.quoted("a'\u{301} b").utf8.elementsEqual("'a'\\''\u{301} b'".utf8))
        #expect(ShellWord.quoted("") == "''")
    }
}
