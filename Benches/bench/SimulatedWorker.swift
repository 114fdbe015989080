import Conversion
import Foundation
import Ledger
import TestSupport
import WorkerRules

/// A worker without rooms and files: the decisions and the calls to the ledger are those of a real worker, and a job
/// takes a drawn time.
///
/// `WorkerState` decides, as in `Worker`. The stages around it repeat the pace of `Beater`, `Claimer`, `Caretaker`
/// and `Publisher`. Digesting and linking an output take no time.
actor SimulatedWorker {
    private struct Conversion {
        let startedAt: ContinuousClock.Instant
        let length: Duration
        let task: Task<Void, Never>
    }

    private static let roots = ["podcasts", "out"]
    private static let patience = Duration.seconds(1)

    private let number: Int
    private let order: FleetOrder
    private let ledger: JobLedger
    private let heartbeat: Heartbeat
    private let measurement: FleetMeasurement

    private var state: WorkerState
    private var actions: [WorkerState.Action] = []
    private var isPassingOn = false
    private var conversions: [Fence: Conversion] = [:]
    private var lengths: SeededGenerator

    private var pokes = 0
    private var sleeper: Task<Void, Never>?
    private var askedForBeatAt: ContinuousClock.Instant?

    init(_ number: Int, _ order: FleetOrder, _ measurement: FleetMeasurement) throws {
        (self.number, self.order, self.measurement) = (number, order, measurement)
        var configuration = try LedgerConfiguration(url: order.url)
        // As in `AudioWorker`: one connection to work, one for heartbeats, one to listen.
        configuration.connectionLimit = 1
        ledger = try JobLedger(configuration)
        heartbeat = try Heartbeat(configuration)
        lengths = SeededGenerator(seed: UInt64(number))
        // The defaults of `WorkerConfiguration`.
        state = WorkerState(
            WorkerSettings(
                slots: order.slots,
                pipelinesPerSlot: 3,
                workAhead: .seconds(1),
                unpublishedLimit: 256,
                groupLimit: 200,
                outageLimit: .seconds(3_600),
                firstPause: .seconds(5),
                longestPause: .seconds(300),
                roots: Self.roots,
                codecs: Set(Codec.allCases),
                seed: UInt64(number)
            )
        )
    }

    /// Works until the process ends.
    func run() async {
        await register(state.abilities)
        await withDiscardingTaskGroup { group in
            group.addTask { await self.sendBeats() }
            group.addTask { await self.watchTheClock() }
            guard order.calls == .all else { return }
            group.addTask { await self.listen() }
            group.addTask { await self.takeUnfinished() }
            group.addTask { await self.keepHouse() }
        }
    }

    var busySlots: Int { state.busySlots }

    // MARK: - Events in, actions out

    private func report(_ event: WorkerState.Event) {
        actions += state.handle(event, at: .now)
        // The order of the actions stays, as in `Dispatcher`.
        guard !isPassingOn else { return }
        isPassingOn = true
        while !actions.isEmpty { take(actions.removeFirst()) }
        isPassingOn = false
    }

    private func take(_ action: WorkerState.Action) {
        switch action {
        case .register(let abilities): Task { await register(abilities) }
        case .beat: poke()
        // A worker that only beats leaves its first question unanswered, so it asks nothing more.
        case .ask(let question): if order.calls == .all { Task { await ask(question) } }
        case .start(let job, _): start(job.fence)
        case .cancelConversion(let fence): conversions[fence]?.task.cancel()
        case .digest(let fence): report(.digested(fence, nil))
        case .publisher(.link(let fences)): report(.linked(fences, not: [:]))
        case .publisher(let step): Task { report(await carryOut(step)) }
        case .report(.leaseOverdue): measurement.count { $0.overdueLeases += 1 }
        case .report(.leaseLost): measurement.count { $0.lostLeases += 1 }
        case .giveUpFileCalls, .discard, .close, .report, .end: break
        }
    }

    private func watchTheClock() async {
        while !Task.isCancelled {
            let deadline = state.deadline(after: .now) ?? .distantFuture
            await rest(until: min(deadline, .now + .seconds(2)))
            if .now >= deadline { report(.timePassed) }
        }
    }

    /// The intervals between a worker's calls are what is simulated.
    private func rest(until end: ContinuousClock.Instant) async {
        // If cancelled, the calling loop notices.
        try? await Task.sleep(until: end, clock: .continuous)
    }

    // MARK: - Conversions

    private func start(_ fence: Fence) {
        // At least a quarter of the mean, and exponential above that.
        let drawn = order.jobSeconds * (0.25 - 0.75 * log(1 - lengths.unit()))
        let now = ContinuousClock.now
        let task = Task {
            await rest(until: now + .seconds(drawn))
            conversions[fence] = nil
            report(.ended(fence, Task.isCancelled ? .stopped : .output))
        }
        conversions[fence] = Conversion(startedAt: now, length: .seconds(drawn), task: task)
        report(.began(fence))
    }

    /// Reports the progress of all conversions. A real room reports it several times a second, and only the last report
    /// before a heartbeat reaches the ledger.
    private func noteProgress() {
        // A conversion of an hour in two minutes.
        let framesPerSecond = 30 * 44_100.0
        for (fence, conversion) in conversions {
            let frames = Int64((.now - conversion.startedAt) / .seconds(1) * framesPerSecond)
            let total = Int64(conversion.length / .seconds(1) * framesPerSecond)
            let position = MediaTime(frames: frames, rate: 44_100)
            report(.progressed(fence, ConversionProgress(position: position, frames: frames, totalFrames: total)))
        }
    }

    // MARK: - Questions

    private func register(_ abilities: [String]) async {
        let registration = WorkerRegistration(
            name: "worker-\(number)",
            host: "bench",
            build: "bench",
            slots: Int32(order.slots),
            abilities: abilities
        )
        let entry = await untilAnswered { try await self.ledger.register(registration) }
        measurement.countAlways { $0.registrations += 1 }
        report(.registered(entry, abilities: abilities))
    }

    private func ask(_ question: WorkerState.Question) async {
        do {
            report(try await answer(question))
        } catch {
            measurement.note(error)
            await rest(until: .now + .milliseconds(Int.random(in: 50...200)))
            if let error = error as? LedgerError, error.code == .ledgerLeaseOver, let worker = state.worker {
                report(.refused(worker: worker))
            }
            report(.questionFailed(mayHaveHappened: (error as? LedgerError)?.mayHaveHappened ?? true))
        }
    }

    private func answer(_ question: WorkerState.Question) async throws -> WorkerState.Event {
        switch question {
        case .claim(let wanted, let worker, let inHand):
            let asked = ContinuousClock.now
            let jobs = try await ledger.claim(
                Int32(clamping: wanted),
                for: worker,
                inHand: inHand,
                within: .seconds(20)
            ).jobs
            let milliseconds = (.now - asked) / .milliseconds(1)
            measurement.count {
                if jobs.isEmpty { $0.emptyClaims.append(milliseconds) } else { $0.claims.append(milliseconds) }
                $0.claimedJobs += jobs.count
            }
            return .claimed(jobs, worker: worker, isEmpty: jobs.isEmpty)
        case .compare(let worker): return .compared(try await ledger.held(by: worker).jobs.map(\.fence), worker: worker)
        case .releaseStrays(let fences):
            _ = try await ledger.release(fences)
            return .straysReleased
        case .reportAbilities(let abilities, let worker):
            try await ledger.setAbilities(abilities, of: worker)
            return .abilitiesReported(abilities, worker: worker)
        case .checkRoots: return .rootsChecked
        }
    }

    private func listen() async {
        for await signal in ledger.workSignals() {
            report(.workSignalled)
            if signal == .cancellation { beatSoon() }
        }
    }

    // MARK: - Publishing

    private func carryOut(_ step: WorkerState.PublisherStep) async -> WorkerState.Event {
        switch step {
        case .link(let fences): return .linked(fences, not: [:])
        case .publish(let fences):
            let publications = fences.map(BenchLedger.publication)
            let answers = await untilAnswered { try await self.ledger.publish(publications) }
            return .published(Dictionary(uniqueKeysWithValues: zip(fences, answers)))
        case .complete(let fences):
            let answers = await untilAnswered { try await self.ledger.finish(fences) }
            measurement.count { $0.finishedJobs += answers.count { $0.stands } }
            let results = answers.map { WorkerState.Completion($0.stands ? .completed : .publishing) }
            return .completed(Dictionary(uniqueKeysWithValues: zip(fences, results)))
        case .reportFailures(let reports):
            return .failuresReported(reports, await untilAnswered { try await self.ledger.fail(reports) })
        case .handBack(let fences, let reason):
            let answers = await untilAnswered { try await self.ledger.release(fences, because: reason.reason) }
            return .handedBack(fences, reason, answers)
        }
    }

    private func untilAnswered<Answer: Sendable>(_ call: @Sendable () async throws -> Answer) async -> Answer {
        while true {
            do { return try await call() } catch { measurement.note(error) }
            await rest(until: .now + .milliseconds(Int.random(in: 50...500)))
        }
    }

    // MARK: - Heartbeats

    private func poke() {
        pokes += 1
        sleeper?.cancel()
    }

    /// As in `Beater`: now, or a second after the last one that was asked for here.
    private func beatSoon() {
        let now = ContinuousClock.now
        if let last = askedForBeatAt, last > now { return }
        let due = max(now, askedForBeatAt.map { $0 + .seconds(1) } ?? now)
        askedForBeatAt = due
        guard due > now else { return poke() }
        Task {
            await rest(until: due)
            poke()
        }
    }

    /// Sleeps until `end` or a poke since `seen`.
    private func sleep(until end: ContinuousClock.Instant, since seen: Int) async {
        guard pokes == seen else { return }
        let sleeper = Task { await rest(until: end) }
        self.sleeper = sleeper
        await sleeper.value
    }

    private func sendBeats() async {
        var due = ContinuousClock.now
        var seen = pokes
        while !Task.isCancelled {
            let pause = min(max(Self.patience, state.leaseLength / 12), .milliseconds(2_500))
            repeat {
                await sleep(until: min(due, .now + pause), since: seen)
                noteProgress()
            } while .now < due && pokes == seen && !state.hasChanged(after: Self.patience, at: .now)
            seen = pokes
            guard let beat = state.beat(at: .now) else {
                due = .now + .seconds(1)
                continue
            }
            due = await send(beat, planned: min(due, .now))
        }
    }

    /// Sends a beat that was planned for `planned`. Returns when the next one is due.
    private func send(_ beat: WorkerState.Beat, planned: ContinuousClock.Instant) async -> ContinuousClock.Instant {
        let status = WorkerStatus(busySlots: beat.busySlots, sandbox: "full", paces: beat.paces)
        let interval = beat.leaseLength / 3
        defer {
            let late = .now - planned
            measurement.count {
                $0.beats += 1
                if late > interval { $0.lateBeats += 1 }
                $0.longestBeatSeconds = max($0.longestBeatSeconds, late / .seconds(1))
            }
        }
        do {
            let limit = min(.seconds(10), max(interval, .milliseconds(200)))
            let reply = try await heartbeat.beat(beat.worker, beat.jobs, status: status, within: limit)
            report(.beatAnswered(reply, worker: beat.worker, reported: beat.jobs))
            return reply.sentAt + interval
        } catch {
            measurement.note(error)
            report(.beatUnanswered(worker: beat.worker))
            return .now + min(interval, .seconds(1)) * Double.random(in: 0.2...1)
        }
    }

    // MARK: - Chores

    /// As in `Caretaker`.
    private func takeUnfinished() async {
        while !Task.isCancelled {
            do { _ = try await ledger.takeUnfinished(in: Self.roots) } catch { measurement.note(error) }
            await rest(until: .now + state.leaseLength * Double.random(in: 0.8...1.2))
        }
    }

    private func keepHouse() async {
        while !Task.isCancelled {
            let lease = state.leaseLength
            var wait = lease * Double.random(in: 0.15...0.25)
            do {
                let report = try await ledger.keepHouse(for: .seconds(1), within: .seconds(5))
                if !report.chores.isEmpty { wait = min(lease / 6, .seconds(Double.random(in: 1...1.5))) }
            } catch {
                measurement.note(error)
            }
            await rest(until: .now + wait)
        }
    }
}

extension ContinuousClock.Instant {
    fileprivate static var distantFuture: ContinuousClock.Instant { .now + .seconds(3_600) }
}
