import FoundationEssentials
import Ledger

/// How much ended per second.
struct RecentPace: Sendable, Hashable {
    /// Jobs.
    let perSecond: Double
    /// Seconds of sound.
    let speed: Double

    /// So far back the ledger is asked, in seconds: jobs that take an hour have a pace as well.
    static let memory: TimeInterval = 3_600
    /// Where so many jobs have ended in so many seconds, what was before is no news.
    private static let plenty = (jobs: 20, seconds: 300.0)

    /// Of the latest work without a break, held against the time that it took: work that has just begun is not slow, and
    /// neither is what came after a rest. `nil` where that was too long ago.
    init?(_ paces: [MinutePace], at now: Date) {
        let stretch = Minute.stretch(of: paces)
        guard let latest = stretch.first, let oldest = stretch.last else { return nil }
        let lately = stretch.prefix { now.timeIntervalSince($0.start) <= Self.plenty.seconds }
        let isPlenty = lately.reduce(0) { $0 + $1.ended } >= Self.plenty.jobs
        let counted = isPlenty ? lately : stretch[...]
        // Of some minutes among many, the first begins with itself, whatever had begun before.
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
        speed = counted.reduce(0) { $0 + $1.audio } / seconds
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

/// What ended in one minute in some queues.
private struct Minute {
    let start: Date
    let began: Date
    let ended: Int
    let audio: Double

    var end: Date { start + 60 }

    /// The minutes of the latest work without a break, the latest first. What was cancelled was no work.
    static func stretch(of paces: [MinutePace]) -> [Minute] {
        let work = paces.filter { $0.completed + $0.failed > 0 }
        let minutes = Dictionary(grouping: work, by: \.minute).map { start, rows in
            Minute(
                start: start,
                began: rows.lazy.map(\.began).min() ?? start,
                ended: rows.reduce(0) { $0 + $1.completed + $1.failed },
                audio: rows.reduce(0) { $0 + $1.audio.seconds }
            )
        }
        var (stretch, began) = ([Minute](), Date.distantFuture)
        for minute in minutes.sorted(by: { $0.start > $1.start }) {
            // A job now and then is no break until a minute is empty.
            if !stretch.isEmpty && minute.end + 60 < began { break }
            stretch.append(minute)
            began = min(began, minute.began)
        }
        return stretch
    }
}
