import Console
import Conversion
import PumpRoom
import Storage
import Worker

/// The journal line of a worker's event.
struct WorkerLine: JournalRecord {
    private let event: WorkerEvent

    init(_ event: WorkerEvent) { self.event = event }

    var priority: LogPriority {
        switch event {
        case .attempt(let line) where line.outcome == .failed: .warning
        case .attempt, .swept, .finishedForOthers: .info
        case .rooms(let level): level.warning == nil ? .notice : .warning
        case .takes(let roots, _): roots.isEmpty ? .warning : .notice
        case .leaseLost: .error
        case .paused, .rootLost, .rootDenied, .fileSystemFull, .mountLost, .leaseOverdue, .ledgerAway, .trouble:
            .warning
        case .started, .stopped, .draining, .idle, .resumed, .rootBack, .rootAllowed, .fileSystemBack, .mountBack,
            .leaseRevived, .registeredAgain, .ledgerBack:
            .notice
        }
    }

    // MARK: - For programs

    private enum Keys: String, CodingKey {
        case event, worker, lease_seconds, reason, wait_seconds, stopped, failure, running, handed_back, count, folder
        case job, epoch, batch, queue, attempt, max_attempts, slot, outcome, source, destination, seconds, frames
        case audio_seconds, bytes, sandbox, warning, root, roots, queues, hint, note, file_system, free_bytes, jobs
        case keep_seconds
    }

    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Keys.self)
        try fields.encode(name, forKey: .event)
        switch event {
        case .started(let worker, let lease):
            try fields.encode(worker, forKey: .worker)
            try fields.encode(lease.seconds, forKey: .lease_seconds)
        case .takes(let roots, let queues):
            try fields.encode(roots.map(\.words), forKey: .roots)
            if !queues.isEmpty { try fields.encode(queues, forKey: .queues) }
            guard roots.isEmpty else { break }
            try fields.encode(Self.withoutRoots, forKey: .warning)
            try fields.encode(Self.rootHint, forKey: .hint)
        case .rooms(let level):
            try fields.encode(level.description, forKey: .sandbox)
            try fields.encodeIfPresent(level.warning, forKey: .warning)
        case .attempt(let line): try encode(line, to: &fields)
        case .paused(let reason, let wait):
            try fields.encode(reason.cut, forKey: .reason)
            try fields.encode(wait.seconds, forKey: .wait_seconds)
        case .rootLost(let root, let reason, let wait):
            try fields.encode(root, forKey: .root)
            try fields.encode(reason.cut, forKey: .reason)
            try fields.encode(wait.seconds, forKey: .wait_seconds)
        case .rootBack(let root, let note):
            try fields.encode(root, forKey: .root)
            try fields.encodeIfPresent(note, forKey: .note)
        case .fileSystemFull(let facts), .fileSystemBack(let facts):
            try fields.encode(facts.mountPoint, forKey: .file_system)
            try fields.encode(facts.freeBytes, forKey: .free_bytes)
        case .mountLost(let lost):
            try fields.encode(lost.mountPoint, forKey: .file_system)
            try fields.encode(lost.words, forKey: .reason)
        case .mountBack(let mountPoint, let note):
            try fields.encode(mountPoint, forKey: .file_system)
            try fields.encodeIfPresent(note, forKey: .note)
        case .rootDenied(let root, let reason):
            try fields.encode(root, forKey: .root)
            try fields.encode(reason.cut, forKey: .reason)
        case .rootAllowed(let root): try fields.encode(root, forKey: .root)
        case .leaseOverdue(let worker, let jobs, let left):
            try fields.encode(worker, forKey: .worker)
            try fields.encode(jobs, forKey: .jobs)
            try fields.encode(left.seconds, forKey: .keep_seconds)
        case .leaseRevived(let worker, let jobs):
            try fields.encode(worker, forKey: .worker)
            try fields.encode(jobs, forKey: .jobs)
        case .leaseLost(let worker, let stopped):
            try fields.encode(worker, forKey: .worker)
            try fields.encode(stopped, forKey: .stopped)
        case .registeredAgain(let worker): try fields.encode(worker, forKey: .worker)
        case .ledgerAway(let failure), .trouble(let failure): try fields.encode(failure.cut, forKey: .failure)
        case .draining(let running, let handedBack):
            try fields.encode(running, forKey: .running)
            try fields.encode(handedBack, forKey: .handed_back)
        case .finishedForOthers(let count): try fields.encode(count, forKey: .count)
        case .swept(let folder, let files):
            try fields.encode(folder, forKey: .folder)
            try fields.encode(files, forKey: .count)
        case .stopped(let worker, let handedBack):
            try fields.encode(worker, forKey: .worker)
            try fields.encodeIfPresent(handedBack, forKey: .handed_back)
        case .resumed, .ledgerBack, .idle: break
        }
    }

    private func encode(_ line: AttemptLine, to fields: inout KeyedEncodingContainer<Keys>) throws {
        try fields.encode(line.job, forKey: .job)
        try fields.encode(line.epoch, forKey: .epoch)
        try fields.encode(line.batch, forKey: .batch)
        try fields.encode(line.queue, forKey: .queue)
        try fields.encode(line.attempt, forKey: .attempt)
        try fields.encode(line.maxAttempts, forKey: .max_attempts)
        try fields.encodeIfPresent(line.slot, forKey: .slot)
        try fields.encode(line.outcome, forKey: .outcome)
        try fields.encode(line.source.cut, forKey: .source)
        try fields.encode(line.destination.cut, forKey: .destination)
        try fields.encodeIfPresent(line.took?.seconds, forKey: .seconds)
        try fields.encodeIfPresent(line.frames, forKey: .frames)
        try fields.encodeIfPresent(line.audio?.seconds, forKey: .audio_seconds)
        try fields.encodeIfPresent(line.bytes, forKey: .bytes)
        try fields.encodeIfPresent(line.failure?.cut, forKey: .failure)
        try fields.encodeIfPresent(line.reason?.cut, forKey: .reason)
    }

    private var name: String {
        switch event {
        case .started: "started"
        case .takes: "takes"
        case .rooms: "rooms"
        case .attempt: "attempt"
        case .paused, .rootLost, .rootDenied, .fileSystemFull, .mountLost: "paused"
        case .resumed, .rootBack, .rootAllowed, .fileSystemBack, .mountBack: "resumed"
        case .leaseOverdue: "lease_overdue"
        case .leaseRevived: "lease_revived"
        case .leaseLost: "lease_lost"
        case .registeredAgain: "registered_again"
        case .ledgerAway: "ledger_away"
        case .ledgerBack: "ledger_back"
        case .draining: "draining"
        case .idle: "idle"
        case .finishedForOthers: "finished_for_others"
        case .swept: "swept"
        case .trouble: "trouble"
        case .stopped: "stopped"
        }
    }

    // MARK: - For people

    func line(_ paint: (String, Ink) -> String) -> String {
        switch event {
        case .started(let worker, let lease):
            "\(paint("started", .good)): worker \(worker), lease \(Figures.duration(seconds: lease.seconds))"
        case .takes(let roots, let queues):
            roots.isEmpty
                ? "\(paint("note", .careful)): \(Self.withoutRoots)\n\(paint("hint", .strong)): \(Self.rootHint)"
                : "takes jobs from \(Self.words(queues)) with files under \(roots.map(\.words.bounded).joined(separator: ", "))"
        case .rooms(let level):
            level.warning.map { "\(paint("note", .careful)): \($0.bounded)" } ?? "pump rooms are sandboxed: \(level)"
        case .attempt(let line): describe(line, paint)
        case .paused(let reason, let wait):
            "\(paint("paused", .careful)): \(reason.bounded); next check in \(Figures.duration(seconds: wait.seconds))"
        case .resumed: "\(paint("resumed", .good)): jobs succeed again"
        case .rootLost(let root, let reason, let wait):
            "\(paint("disabled", .careful)): root \(root.bounded) on this worker: \(reason.bounded); "
                + (wait == .zero
                    ? "it is used again as soon as it answers"
                    : "next check in \(Figures.duration(seconds: wait.seconds))")
        case .rootBack(let root, let note):
            "\(paint("resumed", .good)): root \(root.bounded) is available again"
                + (note.map { "; \($0.bounded)" } ?? "")
        case .fileSystemFull(let facts):
            "\(paint("paused", .careful)) for the file system at \(facts.mountPoint.bounded): it is full ("
                + "\(Figures.bytes(Int64(clamping: facts.freeBytes))) free); jobs that write to it wait for space"
        case .fileSystemBack(let facts):
            "\(paint("resumed", .good)): the file system at \(facts.mountPoint.bounded) has space again"
        case .mountLost(let lost):
            "\(paint("paused", .careful)) for \(lost.mountPoint.bounded): \(lost.words.bounded); jobs with files on it wait "
                + "until it is mounted again"
        case .mountBack(let mountPoint, let note):
            "\(paint("resumed", .good)): \(note?.bounded ?? "the file system") is mounted at \(mountPoint.bounded)"
        case .rootDenied(let root, let reason):
            "\(paint("paused", .careful)) for outputs in root \(root.bounded): \(reason.bounded); jobs that may not write "
                + "there wait until this worker's user may"
        case .rootAllowed(let root):
            "\(paint("resumed", .good)): this worker's user may write to root \(root.bounded)"
        case .leaseOverdue(_, let jobs, let left):
            "\(paint("no answer from the ledger", .careful)) for a whole lease: keeping \(Figures.count(jobs, "job")) for "
                + "\(Figures.duration(seconds: left.seconds)) more"
        case .leaseRevived(_, let jobs):
            "\(paint("the ledger is reachable again", .good)): continuing with \(Figures.count(jobs, "job"))"
        case .leaseLost(_, let stopped):
            "\(paint("lease lost", .bad)): \(Figures.count(stopped, "job")) stopped, their output was discarded"
        case .registeredAgain(let worker): "continuing as worker \(worker)"
        case .ledgerAway(let failure):
            "\(paint("the ledger is unreachable", .careful)): \(failure.message.bounded); running jobs continue"
        case .ledgerBack: "\(paint("the ledger is reachable again", .good))"
        case .draining(let running, let handedBack):
            "stopping: \(Figures.count(running, "job")) finishing, \(handedBack) released; send the signal again to stop at once"
        case .idle: "idle: no jobs to claim"
        case .finishedForOthers(let count): "finished \(Figures.count(count, "publication")) that other workers left"
        case .swept(let folder, let files):
            "removed \(Figures.count(files, "file")) of dead workers from \(folder.bounded)"
        case .trouble(let failure): "\(paint("trouble", .careful)): \(failure.code): \(failure.message.bounded)"
        case .stopped: "stopped"
        }
    }

    private static let withoutRoots =
        "without --root this worker takes no jobs, because each job names the roots of its files; it only runs housekeeping"
    private static let rootHint =
        "add --root NAME=PATH for each root; jobs submitted without --root need --root local=/"

    private static func words(_ queues: [String]) -> String {
        guard !queues.isEmpty else { return "all queues" }
        return (queues.count == 1 ? "queue " : "queues ") + queues.map(\.bounded).joined(separator: ", ")
    }

    private func describe(_ line: AttemptLine, _ paint: (String, Ink) -> String) -> String {
        // A scan has no destination.
        let end = line.destination.isEmpty ? "" : " -> \(line.destination.bounded)"
        let way = "job \(line.job)  \(line.source.bounded)\(end)"
        switch line.outcome {
        case .completed:
            var facts = [way]
            let seconds = line.took?.seconds ?? 0
            if let audio = line.audio { facts.append(Figures.clock(seconds: audio.seconds)) }
            if let bytes = line.bytes { facts.append(Figures.bytes(bytes)) }
            let speed = line.audio.map { " (\(Figures.speed(seconds > 0 ? $0.seconds / seconds : 0)))" } ?? ""
            facts.append(Figures.duration(seconds: seconds) + speed)
            if let reason = line.reason { facts.append(reason.bounded) }
            return "\(paint("done", .good))  \(facts.joined(separator: "  "))"
        case .failed:
            let why = line.failure.map { "\($0.code), \($0.kind.rawValue): \($0.message.bounded)" } ?? ""
            return "\(paint("failed", .bad))  \(way)  attempt \(line.attempt) of \(line.maxAttempts)  \(why)"
        case .released: return "released  \(way)  \(line.reason?.bounded ?? "")"
        case .publishing:
            return "\(paint("not published yet", .careful))  \(way)  \(line.failure?.message.bounded ?? "")"
        case .skipped, .cancelled, .lost: return "\(line.outcome.rawValue)  \(way)"
        }
    }
}

extension WorkerConfiguration.RootPlace {
    /// In the form that `--root` takes.
    fileprivate var words: String { "\(name)=\(path)\(rules.words.isEmpty ? "" : ":")\(rules.words)" }
}

extension String {
    /// Cut to the maximum length for a line of a journal. The JSON encoder escapes control characters.
    var cut: String {
        unicodeScalars.count <= 2_000 ? self : String(String.UnicodeScalarView(unicodeScalars.prefix(2_000))) + "…"
    }
}

extension Failure {
    /// With texts of bounded length.
    var cut: Failure {
        var failure = self
        failure.message = message.cut
        failure.libavText = libavText?.cut
        failure.hint = hint?.cut
        return failure
    }
}
