package import Conversion
package import Ledger

extension WorkerState {
    /// Something that has happened, reported by a stage.
    package enum Event: Sendable {
        // MARK: The lease

        /// The ledger has registered the worker, with these abilities.
        case registered(WorkerEntry, abilities: [String])
        /// The ledger has answered a heartbeat of `worker` that listed the jobs `reported`.
        case beatAnswered(BeatReply, worker: Int64, reported: [RunningJob])
        case beatUnanswered(worker: Int64)
        /// The ledger has refused a call because it has ended `worker`.
        case refused(worker: Int64)

        // MARK: Questions to the ledger

        /// There may be new work.
        case workSignalled
        /// The answer to a claim. `isEmpty`: the ledger had nothing for this worker.
        case claimed([Claim], worker: Int64, isEmpty: Bool)
        /// The jobs that `worker` holds according to the ledger.
        case compared([Fence], worker: Int64)
        case straysReleased
        case abilitiesReported([String], worker: Int64)
        case rootsChecked
        /// The question got no answer. `mayHaveHappened`: the ledger may have carried it out all the same.
        case questionFailed(mayHaveHappened: Bool)

        // MARK: Conversions

        /// The job waits for a room or is in one. It can be cancelled from now on.
        case cancellable(Fence)
        /// A room has begun the job.
        case began(Fence)
        case progressed(Fence, ConversionProgress)
        /// The job has left its pipeline.
        case ended(Fence, JobResult)
        /// The output has its digest, or not, for the reason given.
        case digested(Fence, Setback?)

        // MARK: Publishing and reporting

        /// Outputs were linked under their attempts' names, or not, for the reasons given.
        case linked([Fence], not: [Fence: Setback])
        /// The answers to `publish`; `nil` if there is none.
        case published([Fence: JobAnswer?])
        /// What came of the orders.
        case completed([Fence: Completion])
        case failuresReported([AttemptFailure], [JobAnswer?])
        case handedBack([Fence], HandBack, [JobAnswer?])

        // MARK: The machine

        /// The roots that are set aside, and why, and those of them that do not answer. A change with a lower number than
        /// an earlier one is out of date.
        case rootsChanged(absent: [String: String], silent: Set<String> = [], change: Int)
        /// A stop was ordered, by `deadline` at the latest if there is one.
        case stopAsked(deadline: Moment?)
        /// Nothing happened but that time has passed.
        case timePassed
    }

    /// What a stage must do next, without being asked twice.
    package enum Action: Sendable {
        /// Register the worker, and repeat it until the ledger answers.
        case register(abilities: [String])
        /// Send a heartbeat at once.
        case beat
        case ask(Question)

        case start(HeldJob, Pipeline)
        case cancelConversion(Fence)
        /// Give up the file calls that are under way and do not end at once: the time of a stop is over.
        case giveUpFileCalls
        case digest(Fence)
        case publisher(PublisherStep)
        /// Remove these outputs.
        case discard([Fence])
        /// The job has left the worker. Only the removal of its output may still be under way.
        case close(HeldJob, Closing)

        case report(Notice)
        /// The worker has stopped: no job is left, or the time for the last reports is over.
        case end
    }

    /// What the publisher does next. It gets one step at a time.
    package enum PublisherStep: Sendable {
        /// Link these outputs under their attempts' names.
        case link([Fence])
        /// Ask the ledger to publish these jobs until it answers; keep their files until then.
        case publish([Fence])
        /// Carry out the ledger's orders for these jobs.
        case complete([Fence])
        case reportFailures([AttemptFailure])
        case handBack([Fence], HandBack)
    }

    /// What the worker asks the ledger or its machine. It asks one question at a time.
    package enum Question: Sendable {
        case claim(wanted: Int, worker: Int64, inHand: [Fence])
        /// Which jobs the ledger counts as held by the worker.
        case compare(worker: Int64)
        /// Hand back jobs that the worker does not have: the answer to their claim was lost for good.
        case releaseStrays([Fence])
        case reportAbilities([String], worker: Int64)
        /// Whether the roots are accessible, at the end of a pause.
        case checkRoots
    }

    /// How a job left the worker.
    package struct Closing: Sendable, Hashable {
        package enum Outcome: Sendable, Hashable {
            case completed, failed, released, cancelled, lost
            /// The output has no final name yet; another process will publish it.
            case publishing
        }

        package var outcome: Outcome
        package var failure: Failure?
        /// The frames that a failed attempt had read.
        package var frames: Int64?
        /// Why the job was handed back.
        package var reason: String?
    }

    /// News for users.
    package enum Notice: Sendable, Hashable {
        case paused(because: String, wait: Duration)
        case resumed
        case leaseOverdue(worker: Int64, jobs: Int, keptFor: Duration)
        case leaseRevived(worker: Int64, jobs: Int)
        case leaseLost(worker: Int64, stopped: Int)
        case registeredAgain(worker: Int64)
        case draining(running: Int, handedBack: Int)
        /// The worker ends, because it holds no job and a claim has found none.
        case idle
    }
}
