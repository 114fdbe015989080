import Console
import Conversion
import FoundationEssentials
import Ledger

/// Why a job waits, for users.
struct WaitReason: Sendable {
    let why: JobStory.WaitingFor
    /// Completes "job 17 waits ": `its queue is paused; an operator can resume it: sluice queues resume default`.
    let text: String

    /// `nil` if the job does not wait.
    init?(_ story: JobStory, at now: Date) {
        guard let why = story.waitingFor else { return nil }
        self.why = why
        text = Self.text(why, story, now)
    }

    private static func text(_ why: JobStory.WaitingFor, _ story: JobStory, _ now: Date) -> String {
        let since = "since \(TimeWords.span(seconds: now.timeIntervalSince(story.summary.since)))"
        let time = story.summary.readyAt.map { TimeWords.ahead($0, at: now) }
        let queue = ShellWord.quoted(story.summary.queue).printable
        switch why {
        case .paused: return "its queue is paused; an operator can resume it: sluice queues resume \(queue)"
        case .unable:
            let whole =
                "for a suitable worker, \(since): the job needs \(story.specificNeeds.joined(separator: ", ").printable)"
            // A worker that had what is missing, and cannot use it now, said why.
            let last = story.attempts.last?.failure
            let reason = last.flatMap { $0.known == .unable && !$0.message.isEmpty ? "; \($0.message)" : nil } ?? ""
            let missing = story.missing.filter(story.specificNeeds.contains)
            guard !missing.isEmpty, missing != story.specificNeeds else { return whole + reason.printable }
            let names = missing.joined(separator: ", ").printable
            return "\(whole), and no running worker has \(names)\(reason.isEmpty ? "" : " now")\(reason.printable)"
        case .limit:
            return
                "its queue has reached its limit of running jobs; an operator can remove it: sluice queues limit \(queue) none"
        case .cpuMinutes:
            return "for its tenant, which has used up its CPU time of 24 hours; continues \(time ?? "later")"
        case .outputBytes:
            return "for its tenant, which has used up its bytes of outputs of 24 hours; continues \(time ?? "later")"
        case .runAt:
            return "for its start time: \(story.runAt.map { TimeWords.moment($0, at: now) } ?? "later"), \(time ?? "")"
        case .backOff where story.summary.code == FailureCode.fileSystemFull.rawValue:
            let message = story.attempts.last?.failure?.message ?? "the file system that it writes to is full"
            return
                "for disk space, \(since): \(message.printable); continues automatically, next check \(time ?? "soon")"
        case .backOff where story.summary.code == FailureCode.fileSystemMissing.rawValue:
            let message = story.attempts.last?.failure?.message ?? "the file system of its files is not mounted"
            return
                "for a mount, \(since): \(message.printable); continues automatically, next check \(time ?? "soon")"
        case .backOff where story.summary.code == FailureCode.rootNotWritable.rawValue:
            let message = story.attempts.last?.failure?.message ?? "the worker's user may not write to its root"
            return
                "for permission to write, \(since): \(message.printable); continues automatically, next check \(time ?? "soon")"
        case .backOff:
            return "for its next attempt, \(time ?? "soon"): sluice retry \(story.summary.job) starts it at once"
        case .album:
            return "for the loudness of its album, \(since): other jobs of the batch have not been measured yet"
        case .line: return "its turn, \(since)"
        }
    }
}

extension JobStory {
    /// The needs without the recipe version, unless that is the only one: every worker reads some version.
    var specificNeeds: [String] {
        let others = needs.filter { !$0.hasPrefix("recipe:") }
        return others.isEmpty ? needs : others
    }
}
