import BenchNames
import Conversion
import Foundation
import Ledger
import TestSupport

/// A ledger on a server that waits for its disk, a coordinator and a worker: what one machine would run.
struct ClusterUnderBench {
    let server: LedgerServer
    let ledger: JobLedger
    let folder: String
    /// The worker comes last.
    let processes: [pid_t]

    /// The duration and the results of a run.
    struct Took {
        var seconds: Double
        var frames: Int
        /// Seconds until the last job that succeeded was recorded, and the number of rooms that had died by then.
        var secondsOfGood = 0.0
        var deaths = 0
    }

    /// `program` replaces the command, for rooms that can be broken.
    static func start(
        _ bench: Workbench,
        slots: Int,
        hasCoordinator: Bool = true,
        program: String? = nil
    ) async throws -> ClusterUnderBench {
        let program = program ?? bench.sluice
        let server = try LedgerServer.start()
        let url = server.postgres.url()
        try Run.program(program, ["migrate", "--database", url]).checked()
        let input = try bench.largeFolder.folder("in")
        let output = try bench.largeFolder.folder("cluster-out")
        let where_ = ["--database", url]
        let worker = ["worker", "--slots", "\(slots)", "--root", "in=\(input)", "--root", "out=\(output)"]
        let services = hasCoordinator ? [["coordinator"], worker] : [worker]
        let processes = try services.map { $0 + where_ }.map { words in
            try Background.start(program, words, log: bench.largeFolder.path + "/\(words[0]).log")
        }
        let ledger = try JobLedger(LedgerConfiguration(url: url))
        let deadline = ContinuousClock.now + .seconds(30)
        while try await ledger.status().workers == 0 {
            guard ContinuousClock.now < deadline else { throw SupportError("start a worker", "none has registered") }
            // Polls, because the ledger sends no notification when a worker registers.
            try await Task.sleep(for: .milliseconds(20))
        }
        return ClusterUnderBench(server: server, ledger: ledger, folder: output, processes: processes)
    }

    /// Converts all `sources` and waits until the last is published and recorded; expects `failing` of them to fail.
    func convert(
        _ sources: [String],
        to format: TargetFormat,
        stem: String,
        failing: Int = 0
    ) async throws -> Took {
        let requests = sources.enumerated().map { number, source in
            JobRequest(
                Recipe(
                    from: Recipe.Source(location: source),
                    to: Recipe.Output(location: "out:\(stem)-\(number).\(format.fileExtension)", format: format.format)
                ),
                needs: ["root:in", "root:out"]
            )
        }
        try server.settle()
        let start = ContinuousClock.now
        let receipt = try await ledger.submit(Submission(label: stem), requests)
        // The ledger does not notify at the end of a job. At this interval, polling takes less than a hundredth of the
        // shortest run, both in processor time on the two cores and in delay.
        while try await ledger.status().jobs.open > 0 { try await Task.sleep(for: .milliseconds(5)) }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let ended = try server.postgres.run(
            """
            select count(*) filter (where f.state = 'completed'), sum(a.frames_out) from sluice.finished f
            join sluice.attempt a on a.job = f.job and a.epoch = f.epoch where f.batch = \(receipt.batch)
            """
        ).split(separator: "|").compactMap { Int($0) }
        guard ended.count == 2, ended[0] == sources.count - failing else {
            throw SupportError("convert \(sources.count) clips", "\(ended.first ?? 0) were completed")
        }
        let good = try server.postgres.run(
            """
            with good as (
                select b.created_at as began, max(f.ended_at) as ended from sluice.finished f
                join sluice.batch b on b.id = f.batch where f.batch = \(receipt.batch) and f.state = 'completed' group by 1
            )
            select extract(epoch from ended - began), (
                select count(*) from sluice.attempt a join sluice.job j on j.id = a.job
                where j.batch = \(receipt.batch) and a.outcome = 'failed' and a.ended_at <= good.ended
            ) from good
            """
        ).split(separator: "|")
        guard good.count == 2, let secondsOfGood = Double(good[0]), let deaths = Int(good[1]) else {
            throw SupportError("time \(sources.count) clips", good.joined(separator: "|"))
        }
        return Took(seconds: seconds, frames: ended[1], secondsOfGood: secondsOfGood, deaths: deaths)
    }

    /// Stops the processes, the worker first. The server stops with its last reference.
    func stop() throws {
        for process in processes.reversed() { try Background.stop(process) }
    }
}

/// Programs that run in the background.
enum Background {
    static func start(_ program: String, _ arguments: [String], log: String) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] =
            ProcessInfo.processInfo.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { (words + variables).forEach { free($0) } }
        var id = pid_t()
        let problem = posix_spawn(&id, program, &actions, nil, &words, &variables)
        guard problem == 0 else { throw SupportError("start \(program)", errno: problem) }
        return id
    }

    static func stop(_ id: pid_t) throws {
        kill(id, SIGTERM)
        var status: Int32 = 0
        while waitpid(id, &status, 0) < 0 {
            guard errno == EINTR else { throw SupportError("wait for process \(id)", errno: errno) }
        }
        guard status == 0 else { throw SupportError("stop process \(id)", "it ended with status \(status)") }
    }
}
