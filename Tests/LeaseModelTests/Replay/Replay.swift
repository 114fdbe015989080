@testable import Ledger

/// Repeats a model ledger's calls on the SQL functions, at the same times, and compares each answer, and the tables
/// after each call that changes them.
struct Replay {
    private let entries: [LedgerTrace.Entry]
    /// The steps that a failover later returns to.
    private let kept: Set<Int>
    /// The time of each step. Where it does not matter, it is that of the step before.
    private let times: [Milliseconds]

    init(_ entries: [LedgerTrace.Entry]) {
        self.entries = entries
        kept = entries.stepsToReturnTo
        times = entries.reduce(into: []) { times, entry in times.append(entry.t ?? times.last ?? 0) }
    }

    /// Describes the first answer that differs, or the first difference of the tables after a call; `nil` if there is
    /// none.
    ///
    /// Runs in the caller's transaction, with a savepoint where commits will be lost.
    func firstDifference(on connection: isolated Connection) throws -> String? {
        var start = 0
        while start < entries.count {
            if case .loseCommits(let step) = entries[start].call {
                try connection.script("rollback to step_\(step)")
            }
            if kept.contains(start) { try connection.script("savepoint step_\(start)") }
            // Calls between two savepoints share a round trip.
            var end = start + 1
            while end < entries.count, !kept.contains(end), !entries[end].call.losesCommits { end += 1 }
            if let difference = try firstDifference(start..<end, on: connection) { return difference }
            start = end
        }
        return nil
    }

    private func firstDifference(_ steps: Range<Int>, on connection: isolated Connection) throws -> String? {
        let looks = steps.map { step in
            step == 0 || step == entries.count - 1 || entries[step].call.isWrite
                || entries[step].after != entries[step - 1].after
        }
        let calls = steps.map { entries[$0].call.inSQL }
        let fails = steps.map { entries[$0].answer.isError }
        let found: [(String, String?)] = try connection.rows(
            "select answer, state from replayed(\(calls), \(Array(times[steps])), \(fails), \(looks))"
        ) { (try $0[0], try $0[1]) }
        for (step, (answer, state)) in zip(steps, found) {
            let entry = entries[step]
            guard answer == entry.answer.words else { return story(step, "answers", entry.answer.words, answer) }
            guard let state else { continue }
            let lines = Set(state.split(separator: "\n").map(String.init))
            let expected = Set(entry.after.lines)
            guard lines == expected else {
                return story(
                    step,
                    "then holds",
                    expected.subtracting(lines).sorted().joined(separator: "; "),
                    lines.subtracting(expected).sorted().joined(separator: "; ")
                )
            }
        }
        return nil
    }

    private func story(_ step: Int, _ verb: String, _ model: String, _ postgres: String) -> String {
        let earlier = entries.indices[..<step].suffix(15).map { step in
            line(step) + " -> " + entries[step].answer.words
        }
        return """
            step \(step) of \(entries.count): \(entries[step].call.inSQL)
            the model \(verb): \(model)
            PostgreSQL \(verb): \(postgres)
            \((earlier + [line(step)]).joined(separator: "\n"))
            """
    }

    private func line(_ step: Int) -> String {
        let entry = entries[step]
        return "    \(step)  \(entry.t.map { "\($0) ms  " } ?? "")\(entry.call.words)"
    }
}

extension LedgerTrace.Call {
    /// Whether it writes something under a fence, unless it is refused.
    fileprivate var isWrite: Bool {
        switch self {
        case .publish, .finish, .fail, .release: true
        default: false
        }
    }

    /// The SQL function, as `replayed_call()` knows it.
    var function: String {
        switch self {
        case .submit: "submit"
        case .cancel: "cancel_jobs"
        case .retry: "retry_jobs"
        case .register: "register"
        case .claim: "claim"
        case .barClaims: "bar_claims"
        case .held: "held"
        case .beat: "beat"
        case .stop: "stop_worker"
        case .publish: "publish"
        case .finish: "finish"
        case .fail: "fail"
        case .release: "release"
        case .keepHouse: "tick"
        case .takeUnfinished: "take_unfinished"
        case .stands: "standing_fences"
        case .loseCommits: "nothing"
        }
    }

    /// The function and its arguments.
    fileprivate var inSQL: String { "\(function) \(arguments)" }

    private var arguments: String {
        switch self {
        case .submit(let request): "\(request)"
        case .cancel(let job), .retry(let job): "{\"ids\":[\(job + 1)]}"
        case .register(let key): uuid(key)
        case .claim(let worker, let wanted, let number, let lease): "\(worker.inSQL) \(wanted) \(number) \(uuid(lease))"
        case .barClaims(let worker, let number): "\(worker.inSQL) \(number)"
        case .held(let worker), .stop(let worker): worker.inSQL
        case .beat(let worker, let fences): "\(worker.inSQL) \(fences.inSQL)"
        case .publish(let order): "\([order.fence].inSQL) {\(order.attemptName)} {\(order.digest)} {\(order.bytes)}"
        case .finish(let fence), .release(let fence): [fence].inSQL
        case .fail(let fence, let reason):
            """
            [{"job":\(fence.job + 1),"epoch":\(fence.epoch),"lease_id":"\(uuid(fence.lease))",\
            "code":"\(reason.code)","class":"\(reason.failureClass)","stage":"convert","message":"failed"}]
            """
        case .keepHouse(let server): "\(server)"
        case .stands(let key): [Fence(job: key.job, epoch: key.epoch, lease: key.lease)].inSQL
        case .takeUnfinished, .loseCommits: ""
        }
    }
}

extension LedgerTrace.Answer {
    /// Whether the SQL function answers with an error.
    fileprivate var isError: Bool {
        switch self {
        case .refused, .stranger, .failed: true
        default: false
        }
    }
}

/// The id of a lease, or the secret of a worker, by its number in the model.
private func uuid(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 32 - digits.count) + digits
}

extension WorkerName {
    /// Its id and its secret.
    fileprivate var inSQL: String { "\(id) \(uuid(key))" }
}

extension [Fence] {
    /// Three arrays: jobs, epochs and lease ids.
    fileprivate var inSQL: String {
        func list(_ value: (Fence) -> String) -> String { "{\(map(value).joined(separator: ","))}" }
        return "\(list { "\($0.job + 1)" }) \(list { "\($0.epoch)" }) \(list { uuid($0.lease) })"
    }
}
