extension LedgerTables {
    /// All rows, in the words of `replayed_state()`.
    var lines: [String] {
        func time(_ t: Milliseconds) -> String { t == .min ? "never" : "\(t)" }
        let jobLines = jobs.enumerated().map { number, job in
            let figures = "epoch \(job.epoch), spent \(job.spent), lost \(job.lost)"
            let holder = "lease \(job.lease) of worker \(job.worker)"
            let rest =
                switch job.state {
                case .waiting, .cancelled: "\(job.state), \(figures)"
                case .delayed: "delayed until \(time(job.readyAt)), \(figures)"
                case .running:
                    "running, \(figures), \(holder), moved at \(time(job.movedAt))\(job.cancelAsked ? ", to stop" : "")"
                case .publishing:
                    "publishing since \(time(job.publishedAt)), \(figures), \(holder), handed out at \(time(job.handedAt)), "
                        + "file \(job.order?.attemptName ?? "")"
                case .completed: "completed, \(figures), \(job.order?.bytes ?? -1) bytes"
                case .failed: "failed, \(figures), \(job.reason.map { "\($0.code)" } ?? "")"
                }
            return "job \(number) \(rest)"
        }
        let attemptLines = attempts.map { attempt in
            "attempt \(attempt.epoch) of job \(attempt.job), lease \(attempt.lease): \(attempt.outcome)"
        }
        let workerLines = workers.enumerated().map { number, worker in
            "worker \(number), lease until \(time(worker.leaseUntil)), revived at \(time(worker.revivedAt)), "
                + "claims from \(worker.claimsFrom)\(worker.hasEnded ? ", ended" : "")"
        }
        let house = "house, tick at \(time(tickAt ?? .min)), quiet until \(time(quietUntil))"
        return jobLines + attemptLines + workerLines + [house]
    }
}
