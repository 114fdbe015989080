import Conversion
import Storage
import Synchronization
import System
import WorkerRules

/// The inboxes of the stages, by which actions reach them.
struct Stages: Sendable {
    let ticker = Ticker()
    let beater = Beater()
    let conversions = RunningConversions()
    let outputs = FinishedOutputs()
    let files = FileCalls()
    /// The abilities to register the worker with.
    let registrations = Channel<[String]>()
    let questions = Channel<WorkerState.Question>()
    private let starts: [Pipeline: Channel<HeldJob>]
    let digests = Channel<FinishedOutput>()
    let steps = Channel<PublishingStep>()
    let discards = Channel<FinishedOutput>()
    /// Given when the worker has stopped.
    let end = WakeSignal()
    private let onEvent: @Sendable (WorkerEvent) -> Void

    init(_ configuration: WorkerConfiguration, onEvent: @escaping @Sendable (WorkerEvent) -> Void) {
        self.onEvent = onEvent
        var starts: [Pipeline: Channel<HeldJob>] = [:]
        for slot in 0..<configuration.slots {
            for number in 0..<WorkerConfiguration.pipelinesPerSlot {
                starts[Pipeline(slot: slot, number: number)] = Channel()
            }
        }
        self.starts = starts
    }

    /// The inboxes of a slot's pipelines.
    func starts(in slot: Int) -> [Channel<HeldJob>] { starts.filter { $0.key.slot == slot }.map(\.value) }

    /// Passes an action on. Never waits.
    func take(_ action: WorkerState.Action) {
        switch action {
        case .register(let abilities): registrations.put(abilities)
        case .beat: beater.hurry()
        case .ask(let question): questions.put(question)
        case .start(let job, let pipeline):
            guard let jobs = starts[pipeline] else { preconditionFailure("there is no \(pipeline)") }
            jobs.put(job)
        case .cancelConversion(let fence): conversions.cancel(fence)
        case .giveUpFileCalls: files.giveUp(after: .seconds(1))
        case .digest(let fence):
            let output = outputs.output(of: fence)
            // The pipeline reports the digests that it has computed.
            if output.fingerprints == nil { digests.put(output) }
        case .publisher(let step): steps.put(PublishingStep(step, outputs))
        case .discard(let fences): discards.put(fences.compactMap(outputs.discard))
        case .close(let job, let closing): onEvent(.attempt(AttemptLine(job, closing, outputs.remove(job.fence))))
        case .report(let notice): onEvent(WorkerEvent(notice))
        case .end: end.send()
        }
    }
}

/// The conversions that can be cancelled.
final class RunningConversions: Sendable {
    private let running = Mutex<[Fence: @Sendable () -> Void]>([:])

    func begin(_ fence: Fence, cancel: @escaping @Sendable () -> Void) { running.withLock { $0[fence] = cancel } }

    func end(_ fence: Fence) { running.withLock { _ = $0.removeValue(forKey: fence) } }

    func cancel(_ fence: Fence) {
        let cancel = running.withLock { $0[fence] }
        cancel?()
    }
}

extension WorkerEvent {
    init(_ notice: WorkerState.Notice) {
        switch notice {
        case .paused(let reason, let wait): self = .paused(because: reason, wait: wait)
        case .resumed: self = .resumed
        case .leaseOverdue(let worker, let jobs, let kept):
            self = .leaseOverdue(worker: worker, jobs: jobs, keptFor: kept)
        case .leaseRevived(let worker, let jobs): self = .leaseRevived(worker: worker, jobs: jobs)
        case .leaseLost(let worker, let stopped): self = .leaseLost(worker: worker, stopped: stopped)
        case .registeredAgain(let worker): self = .registeredAgain(worker: worker)
        case .draining(let running, let handedBack): self = .draining(running: running, handedBack: handedBack)
        case .idle: self = .idle
        }
    }
}
