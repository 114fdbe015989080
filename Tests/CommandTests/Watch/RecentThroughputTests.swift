import API
import FoundationEssentials
import Testing

@testable import Command
@testable import Console
@testable import Ledger

struct RecentThroughputTests {
    /// In the middle of a minute, so that the measured work does not start with a minute.
    private static let now = Date(timeIntervalSince1970: 1_000_000 * 60 + 54)

    /// The record of a minute: `jobs` jobs ended `ago` seconds ago, and the first of them began `began` seconds ago.
    private static func minute(_ ago: Double, jobs: Int, began: Double, cancelled: Int = 0, queue: String = "default")
        -> MinuteThroughput
    {
        let end = (now - ago).timeIntervalSince1970
        var minute = MinuteThroughput()
        minute.minute = Date(timeIntervalSince1970: end - end.truncatingRemainder(dividingBy: 60))
        (minute.queue, minute.completed, minute.cancelled) = (queue, jobs, cancelled)
        (minute.audio, minute.began) = (.seconds(10 * jobs), now - began)
        return minute
    }

    private static let short = minute(0, jobs: 30, began: 10)
    private static let steady: [MinuteThroughput] = (0..<60).map { (ago: Int) -> MinuteThroughput in
        minute(Double(ago) * 60, jobs: 6, began: Double(ago + 1) * 60)
    }

    private static let slower: [MinuteThroughput] = (0..<20).map { (ago: Int) -> MinuteThroughput in
        let jobs: Int = ago < 5 ? 10 : 600
        return minute(Double(ago) * 60, jobs: jobs, began: Double(ago + 1) * 60)
    }

    @Test(
        arguments: [
            ("work that has just begun", [short], "3.0/s"),
            ("two queues", [short, minute(0, jobs: 10, began: 8, queue: "b")], "4.0/s"),
            ("after a rest", [short, minute(1_800, jobs: 1_000, began: 1_900)], "3.0/s"),
            ("of jobs that take an hour", [minute(10, jobs: 2, began: 3_600)], "2.0/h"),
            ("beside one that took half an hour", [minute(0, jobs: 540, began: 1_800)], "10/s"),
            ("one every ten seconds", steady, "6.1/min"),
            ("slower than it was", slower, "10/min"),
            ("cancelled ones beside", [short, minute(60, jobs: 0, began: 70, cancelled: 1_000)], "3.0/s"),
        ] as [(String, [MinuteThroughput], String)]
    )
    func isHeldAgainstTheTimeThatTheWorkTook(what: String, paces: [MinuteThroughput], said: String) throws {
        let throughput = try #require(RecentThroughput(paces, at: Self.now))
        #expect(throughput.words() == said, "\(what)")
        #expect(abs(throughput.speed - 10 * throughput.perSecond) < 1e-9)
    }

    @Test func isForgottenAfterAWhile() {
        #expect(RecentThroughput([], at: Self.now) == nil)
        #expect(RecentThroughput([Self.short], at: Self.now + 600) == nil)
        // Jobs that take most of an hour each leave long gaps between their ends, so the throughput lasts longer.
        let slow = Self.minute(10, jobs: 2, began: 3_000)
        #expect(RecentThroughput([slow], at: Self.now + 600) != nil)
    }
}
