import API
import Console
import Conversion
import FoundationEssentials
import Ledger

/// How many jobs ended per second recently.
struct RecentThroughput: Sendable, Hashable {
    /// Jobs per second.
    let perSecond: Double
    /// Seconds of sound per second.
    let speed: Double
    /// How many jobs were completed, and the seconds of sound in them.
    let completed: Int
    let sound: Double

    /// How far back to read, in seconds: even jobs that take an hour then have a throughput.
    static let memory: TimeInterval = 3_600
    /// If this many jobs ended within this many seconds, older ones do not count.
    private static let plenty = (jobs: 20, seconds: 300.0)

    /// The throughput of the latest uninterrupted work, over the time since it began. So work that has just begun does
    /// not look slow, and neither does work after a rest. `nil` if the work ended too long ago.
    init?(_ paces: [MinuteThroughput], at now: Date) {
        let stretch = Minute.stretch(of: paces)
        guard let latest = stretch.first, let oldest = stretch.last else { return nil }
        let lately = stretch.prefix { now.timeIntervalSince($0.start) <= Self.plenty.seconds }
        let isPlenty = lately.reduce(0) { $0 + $1.ended } >= Self.plenty.jobs
        let counted = isPlenty ? lately : stretch[...]
        // For a few minutes out of many, count from the start of the oldest, even if its jobs began before.
        let began =
            isPlenty
            ? counted.last.map { max($0.start, $0.began) } ?? now
            : max(counted.lazy.map(\.began).min() ?? now, now - Self.memory)
        let seconds = now.timeIntervalSince(began)
        let silence = now.timeIntervalSince(latest.end)
        guard seconds >= 1, silence <= max(Self.plenty.seconds, latest.end.timeIntervalSince(oldest.began)) else {
            return nil
        }
        perSecond = Double(counted.reduce(0) { $0 + $1.ended }) / seconds
        completed = counted.reduce(0) { $0 + $1.completed }
        sound = counted.reduce(0) { $0 + $1.audio }
        speed = sound / seconds
    }

    /// `9.4/s`, `12/min`, `2.0/h`; with a noun, `9.4 files/s`.
    func words(_ noun: String = "") -> String {
        let (rate, unit) =
            switch perSecond {
            case 1...: (perSecond, "s")
            case (1 / 60)...: (perSecond * 60, "min")
            default: (perSecond * 3_600, "h")
            }
        return Figures.decimals(rate, rate < 10 ? 1 : 0) + (noun.isEmpty ? "" : " \(noun)") + "/\(unit)"
    }
}

/// What ended within one minute, in some queues.
private struct Minute {
    let start: Date
    let began: Date
    let ended: Int
    let completed: Int
    let audio: Double

    var end: Date { start + 60 }

    /// The minutes of the latest uninterrupted work, latest first. Cancelled jobs do not count as work.
    static func stretch(of paces: [MinuteThroughput]) -> [Minute] {
        let work = paces.filter { $0.completed + $0.failed > 0 }
        let minutes = Dictionary(grouping: work, by: \.minute).map { start, rows in
            Minute(
                start: start,
                began: rows.lazy.map(\.began).min() ?? start,
                ended: rows.reduce(0) { $0 + $1.completed + $1.failed },
                completed: rows.reduce(0) { $0 + $1.completed },
                audio: rows.reduce(0) { $0 + $1.audio.seconds }
            )
        }
        var (stretch, began) = ([Minute](), Date.distantFuture)
        for minute in minutes.sorted(by: { $0.start > $1.start }) {
            // A gap between jobs is a break only if it spans an empty minute.
            if !stretch.isEmpty && minute.end + 60 < began { break }
            stretch.append(minute)
            began = min(began, minute.began)
        }
        return stretch
    }
}
