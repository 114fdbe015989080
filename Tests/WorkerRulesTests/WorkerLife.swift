import Conversion
import Foundation
@testable import Ledger
@testable import WorkerRules

/// A worker's state on a clock that a test moves, with what follows from each event.
struct WorkerLife {
    static let lease = Duration.seconds(30)
    private static let start = ContinuousClock.now

    var state: WorkerState
    var now = WorkerLife.start
    /// What followed from the last event.
    private(set) var actions: [WorkerState.Action] = []
    /// The jobs that were started, in their order, and where.
    private(set) var started: [(fence: Fence, pipeline: Pipeline)] = []
    private(set) var closings: [Int64: WorkerState.Closing.Outcome] = [:]
    private(set) var notices: [WorkerState.Notice] = []

    init(
        slots: Int = 2,
        pipelines: Int = 1,
        groupLimit: Int = 200,
        roots: [String] = ["in", "out"],
        endsWhenIdle: Bool = false
    ) {
        state = WorkerState(
            WorkerSettings(
                slots: slots,
                pipelinesPerSlot: pipelines,
                workAhead: .seconds(1),
                unpublishedLimit: 8,
                groupLimit: groupLimit,
                outageLimit: .seconds(60),
                firstPause: .seconds(5),
                longestPause: .seconds(300),
                roots: roots,
                codecs: [],
                endsWhenIdle: endsWhenIdle,
                seed: 1
            )
        )
        register(as: 7)
    }

    /// A worker of one slot whose job 1 has taken so little time that the slot prepares others meanwhile.
    static func afterAShortJob(pipelines: Int) -> WorkerLife {
        var life = WorkerLife(slots: 1, pipelines: pipelines)
        life.claim(1)
        life.now += .milliseconds(10)
        life.report(.ended(fence(1), .output))
        life.report(.workSignalled)
        return life
    }

    mutating func register(as worker: Int64) {
        let entry = WorkerEntry(worker: worker, leaseLength: Self.lease, sentAt: now)
        report(.registered(entry, abilities: state.abilities))
    }

    mutating func report(_ event: WorkerState.Event) {
        actions = state.handle(event, at: now)
        for action in actions {
            switch action {
            case .start(let job, let pipeline): started.append((job.fence, pipeline))
            case .close(let job, let closing): closings[job.fence.job] = closing.outcome
            case .report(let notice): notices.append(notice)
            default: break
            }
        }
    }

    mutating func pass(_ time: Duration) {
        now += time
        report(.timePassed)
    }

    /// Answers the claim with jobs of these numbers.
    mutating func claim(_ jobs: Int64..., workersLost: Int = 0, queue: String = "default", root: String = "in") {
        let claims = jobs.map { Self.claim($0, workersLost: workersLost, queue: queue, root: root) }
        report(.claimed(claims, worker: state.worker ?? 0, isEmpty: claims.isEmpty))
    }

    mutating func beat(_ change: (inout BeatReply) -> Void = { _ in }) {
        guard let beat = state.beat(at: now) else { return }
        var reply = BeatReply(isAlive: true, leaseLength: Self.lease, sentAt: now)
        change(&reply)
        report(.beatAnswered(reply, worker: beat.worker, reported: beat.jobs))
    }

    static func fence(_ job: Int64) -> Fence {
        Fence(job: job, epoch: 1, lease: UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, UInt8(job))))
    }

    static func claim(_ job: Int64, workersLost: Int = 0, queue: String = "default", root: String = "in") -> Claim {
        Claim(
            fence: fence(job),
            recipe: Recipe(
                from: Recipe.Source(location: "\(root):\(job).wav"),
                to: Recipe.Output(location: "out:\(job).flac")
            ),
            batch: 1,
            queue: queue,
            priority: 0,
            cost: 1,
            labels: [:],
            attempt: 1,
            maxAttempts: 3,
            losses: workersLost,
            roomDeaths: 0,
            workersLost: workersLost
        )
    }

    // MARK: - What followed

    /// The number of jobs that were asked for; `nil` if none were.
    var wanted: Int? {
        for case .ask(.claim(let wanted, _, _)) in actions { return wanted }
        return nil
    }

    var isComparing: Bool { actions.contains { if case .ask(.compare) = $0 { true } else { false } } }

    /// The numbers of the jobs whose conversions are to be cancelled.
    var cancelled: [Int64] {
        actions.compactMap { action -> Int64? in
            if case .cancelConversion(let fence) = action { fence.job } else { nil }
        }
    }

    var discarded: [Int64] {
        actions.flatMap { action -> [Int64] in
            if case .discard(let fences) = action { fences.map(\.job) } else { [] }
        }
    }

    /// What the publisher is to do, in words.
    var step: String? {
        for case .publisher(let step) in actions {
            switch step {
            case .link(let fences): return "link \(fences.map(\.job))"
            case .publish(let fences): return "publish \(fences.map(\.job))"
            case .complete(let fences): return "complete \(fences.map(\.job))"
            case .reportFailures(let reports): return "fail \(reports.map { "\($0.fence.job) \($0.failure.code)" })"
            case .handBack(let fences, let why):
                return "hand back \(fences.map(\.job)) \(why.need ?? why.reason.rawValue)"
            }
        }
        return nil
    }

    /// Why jobs are being handed back, if they are.
    var handedBack: HandBack? {
        for case .publisher(.handBack(_, let why)) in actions { return why }
        return nil
    }

    var hasEnded: Bool { actions.contains { if case .end = $0 { true } else { false } } }
    var registers: Bool { actions.contains { if case .register = $0 { true } else { false } } }
}
