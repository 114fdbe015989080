/// The calls that reached a model ledger, each with its answer and the tables after it.
struct LedgerTrace: Sendable {
    enum Call: Sendable {
        case submit(Int)
        case cancel(Int)
        case retry(Int)
        case register(key: Int)
        case claim(WorkerName, wanted: Int, number: Int, lease: Int)
        case barClaims(WorkerName, upTo: Int)
        case held(WorkerName)
        case beat(WorkerName, [Fence])
        case stop(WorkerName)
        case publish(Order)
        case finish(Fence)
        case fail(Fence, Reason)
        case release(Fence)
        case keepHouse(server: Int)
        case takeUnfinished
        case stands(AttemptKey)
        /// Not a call: a failover loses what happened since the call with that number.
        case loseCommits(since: Int)

        var losesCommits: Bool { if case .loseCommits = self { true } else { false } }
    }

    enum Answer: Equatable, Sendable {
        case none
        case submitted(Int, isNew: Bool)
        case registered(Int)
        case fences([Fence])
        /// The worker has been ended, or the ledger does not know it.
        case refused
        /// Another worker has that number.
        case stranger
        /// The jobs in order.
        case beat(lost: [Int], cancelled: [Int])
        case said(FenceAnswer)
        /// Whether there was a tick. Another one may have been too short a time ago.
        case ticked(Bool)
        case handed(Handed?)
        case stands(Bool)
        /// The transaction failed and changed nothing.
        case failed
    }

    /// What the ledger says of a publication that it hands out.
    struct Handed: Equatable, Sendable {
        let fence: Fence
        let attemptName: String
        let digest: String
        let bytes: Int
    }

    struct Entry: Sendable {
        let call: Call
        let answer: Answer
        /// The ledger's time; `nil` where it does not matter.
        let t: Milliseconds?
        let after: LedgerTables
    }

    /// A list from the last entry to the first. Every commit copies the ledger with its trace, which an array would
    /// make slow.
    private final class Link: Sendable {
        let entry: Entry
        let earlier: Link?
        let count: Int

        init(_ entry: Entry, after earlier: Link?) {
            (self.entry, self.earlier, count) = (entry, earlier, (earlier?.count ?? 0) + 1)
        }
    }

    private var lastLink: Link?

    var last: Entry? { lastLink?.entry }
    var count: Int { lastLink?.count ?? 0 }

    /// From the first to the last.
    var entries: [Entry] {
        var reversed: [Entry] = []
        var next = lastLink
        while let link = next {
            reversed.append(link.entry)
            next = link.earlier
        }
        return reversed.reversed()
    }

    mutating func append(_ call: Call, _ answer: Answer, at t: Milliseconds?, after: LedgerTables) {
        lastLink = Link(Entry(call: call, answer: answer, t: t, after: after), after: lastLink)
    }
}

extension LedgerTrace.Call {
    var words: String {
        switch self {
        case .submit(let request): "submit request \(request)"
        case .cancel(let job): "cancel job \(job)"
        case .retry(let job): "retry job \(job)"
        case .register: "register"
        case .claim(let worker, let wanted, let number, let lease):
            "claim number \(number) of worker \(worker.id): up to \(wanted), lease \(lease)"
        case .barClaims(let worker, let number): "bar claims of worker \(worker.id) up to number \(number)"
        case .held(let worker): "held by worker \(worker.id)"
        case .beat(let worker, let fences): "beat of worker \(worker.id) with \(fences.map(\.words))"
        case .stop(let worker): "stop worker \(worker.id)"
        case .publish(let order): "publish \(order.fence.words)"
        case .finish(let fence): "finish \(fence.words)"
        case .fail(let fence, let reason): "fail \(fence.words): \(reason.failureClass) \(reason.code)"
        case .release(let fence): "release \(fence.words)"
        case .keepHouse(let server): "keep house on server \(server)"
        case .takeUnfinished: "take unfinished"
        case .stands(let key): "does \(key.job).\(key.epoch).\(key.lease) stand"
        case .loseCommits(let number): "a failover loses what happened since step \(number)"
        }
    }
}

extension LedgerTrace.Answer {
    var words: String {
        func list(_ jobs: [Int]) -> String { "{\(jobs.map { "\($0)" }.joined(separator: ","))}" }
        return switch self {
        case .none: "done"
        case .submitted(let job, let isNew): "job \(job), \(isNew ? "new" : "known")"
        case .registered(let worker): "worker \(worker)"
        case .fences(let fences): fences.isEmpty ? "nothing" : fences.map(\.words).joined(separator: " ")
        case .refused: "refused"
        case .stranger: "refused as a stranger"
        case .beat(let lost, let cancelled): "lost \(list(lost)), to stop \(list(cancelled))"
        case .said(let answer): "\(answer)"
        case .ticked(let hasTicked): hasTicked ? "a tick" : "no tick"
        case .handed(nil): "nothing"
        case .handed(let handed?):
            "\(handed.fence.words), file \(handed.attemptName), digest \(handed.digest), \(handed.bytes) bytes"
        case .stands(let stands): "\(stands)"
        case .failed: "failed"
        }
    }
}

extension LedgerTrace.Handed {
    init(_ order: Order) {
        self.init(fence: order.fence, attemptName: order.attemptName, digest: order.digest, bytes: order.bytes)
    }
}

extension Order {
    var attemptName: String { "\(key.job).\(key.epoch).\(key.lease)" }

    /// A length that no other content has.
    var bytes: Int { 100 * content.request + 10 * content.build + (content.isWhole ? 1 : 0) }

    /// As many hexadecimal digits as SHA-256 has.
    var digest: String {
        let digits = String(bytes, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }
}
