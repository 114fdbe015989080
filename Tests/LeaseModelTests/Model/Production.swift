import Conversion
import FoundationEssentials
@testable import Ledger
import WorkerRules

/// A fence as production has it. The model's own has whole numbers.
typealias FenceOfJob = Conversion.Fence

/// Translates between the model's values and those of the production worker.
enum Production {
    private static let origin = ContinuousClock.now
    private static let recipe = Recipe(
        from: Recipe.Source(location: "in:a.wav"),
        to: Recipe.Output(location: "out:a.flac")
    )

    static func moment(_ time: Milliseconds) -> WorkerState.Moment { origin + .milliseconds(time) }

    static func time(_ moment: WorkerState.Moment) -> Milliseconds {
        Milliseconds((moment - origin) / .milliseconds(1))
    }

    static func claim(_ fence: Fence, lost: Int) -> Claim {
        Claim(
            fence: FenceOfJob(fence),
            recipe: recipe,
            batch: 1,
            queue: "default",
            priority: 0,
            cost: 1,
            labels: [:],
            attempt: 1,
            maxAttempts: Times.maxAttempts,
            losses: lost,
            roomDeaths: 0,
            workersLost: lost
        )
    }

    static func entry(_ worker: WorkerName, sentAt: Milliseconds) -> WorkerEntry {
        WorkerEntry(
            worker: Int64(worker.id),
            leaseLength: .milliseconds(Times.lease),
            sentAt: moment(sentAt)
        )
    }

    static func failure(_ reason: Reason) -> Failure {
        let code: FailureCode =
            switch reason.code {
            case .conversion: .corruptStream
            case .destinationIO: .destinationIO
            case .destinationExists: .destinationExists
            case .attemptLost: .attemptLost
            case .workerLost, .stalled: .cancelled
            }
        return Failure(code, at: .publish, "as the model says")
    }
}

extension FenceOfJob {
    init(_ fence: Fence) {
        let lease = withUnsafeBytes(of: UInt64(fence.lease).bigEndian) { Array($0) }
        let bytes: uuid_t = (
            0, 0, 0, 0, 0, 0, 0, 0, lease[0], lease[1], lease[2], lease[3], lease[4], lease[5], lease[6], lease[7]
        )
        self.init(job: Int64(fence.job), epoch: Int32(fence.epoch), lease: UUID(uuid: bytes))
    }
}

extension Fence {
    init(_ fence: FenceOfJob) {
        self.init(job: Int(fence.job), epoch: Int(fence.epoch), lease: Int(fence.leaseNumber))
    }
}

extension JobAnswer {
    init(_ answer: FenceAnswer) {
        self =
            switch answer {
            case .done: .done
            case .repeated: .repeated
            case .lost: .lost
            case .cancelled: .cancelled
            case .publishing: .publishing
            }
    }
}
