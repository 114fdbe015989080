import Conversion
import FoundationEssentials

extension JobLedger {
    /// Submits one job, by a call of its own or together with others.
    func submit(_ submission: SingleSubmission) async throws -> SubmissionReceipt {
        if let receipt = try await singles.enter(submission) { return receipt }
        defer { carryOn() }
        return try await submitAlone(submission)
    }

    private func submitAlone(_ submission: SingleSubmission) async throws -> SubmissionReceipt {
        try await settle("submit jobs", within: submission.timeLeft) { connection, _ in
            let receipt = try connection.enter(JSON(text: "[\(submission.job)]"), submission.call, submission.digest)
            if submission.call.submission.wakesWorkers, !receipt.isRepetition { notifyWorkers(on: connection) }
            return receipt
        }
    }

    /// After a call: makes the next one, for the submissions that have come meanwhile.
    private func carryOn() {
        let group = singles.next()
        guard !group.isEmpty else { return }
        Task {
            await submitTogether(group)
            carryOn()
        }
    }

    private func submitTogether(_ group: [SingleSubmission]) async {
        do {
            let limit = group.map(\.timeLeft).min()
            let receipts = try await settle("submit jobs", within: limit) { connection, _ in
                let receipts = try connection.enter(group)
                if group.contains(where: \.call.submission.wakesWorkers) { notifyWorkers(on: connection) }
                return receipts
            }
            for (submission, receipt) in zip(group, receipts) { submission.end(.success(receipt)) }
        } catch {
            // One job may be at fault for all, or the time of one caller is over. The keys find what was added.
            await withTaskGroup { tasks in
                for submission in group where submission.isAwaited {
                    tasks.addTask {
                        do {
                            submission.end(.success(try await submitAlone(submission)))
                        } catch {
                            submission.end(.failure(error))
                        }
                    }
                }
            }
        }
    }
}

extension SingleSubmission {
    fileprivate var timeLeft: Duration { max(deadline - .now, .milliseconds(1)) }
}

extension Connection {
    /// Submits jobs of one kind in one statement and one transaction, each as a batch. Returns their receipts in order.
    fileprivate func enter(_ group: [SingleSubmission]) throws -> [SubmissionReceipt] {
        let kind = group[0].kind
        var list = "["
        for submission in group {
            if list.utf8.count > 1 { list += "," }
            submission.appendRequest(to: &list)
        }
        list += "]"
        // The server answers in this order.
        let entered = try rows(
            """
            select * from \(group[0].call.schema).submit_each(
                \(JSON(text: list)), queue_name => \(kind.queue), job_priority => \(kind.priority))
            """
        ) { try SubmissionReceipt(reading: $0) }
        guard entered.count == group.count else {
            throw failure(.ledgerUnexpectedAnswer, "the server answered \(entered.count) of \(group.count) submissions")
        }
        return try zip(group, entered).map { try settled($1, $0.call, $0.digest) }
    }
}

extension SingleSubmission {
    /// The request as `submit_each` reads it.
    fileprivate func appendRequest(to text: inout String) {
        let submission = call.submission
        text += "{\"job\":\(job),\"key\":"
        text.appendJSON(call.key)
        text += ",\"digest\":\""
        let digits = Array("0123456789abcdef")
        for byte in call.mark(digest) {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        text += "\",\"weight\":\(submission.weight),\"labels\":"
        text.appendJSON(submission.labels)
        if let label = submission.label {
            text += ",\"name\":"
            text.appendJSON(label)
        }
        if let attempts = submission.maxAttempts { text += ",\"max_attempts\":\(Int32(clamping: attempts))" }
        if let time = submission.runAt { text += ",\"run_at\":\"\(time.ledgerText)\"" }
        text += "}"
    }
}

extension Sequence {
    /// The only element; `nil` if there is none, or more than one.
    var only: Element? {
        var iterator = makeIterator()
        guard let first = iterator.next(), iterator.next() == nil else { return nil }
        return first
    }
}
