import Conversion
import Ledger
import Testing

@testable import WorkerRules

/// What a worker decides, event by event. The lease model shows that its decisions keep the promises under faults.
struct WorkerStateTests {
    private func fences(_ jobs: Int64...) -> [Fence] { jobs.map(WorkerLife.fence) }

    // MARK: - From the claim to the end

    @Test func jobGoesFromItsClaimToItsEnd() {
        var life = WorkerLife(slots: 1)
        #expect(life.wanted == 1)
        life.claim(1)
        #expect(life.started.map(\.fence) == fences(1))
        life.report(.ended(WorkerLife.fence(1), .output))
        life.report(.digested(WorkerLife.fence(1), nil))
        #expect(life.step == "link [1]")
        life.report(.linked(fences(1), not: [:]))
        #expect(life.step == "publish [1]")
        life.report(.published([WorkerLife.fence(1): .done]))
        #expect(life.step == "complete [1]")
        life.report(.completed([WorkerLife.fence(1): .init(.completed)]))
        #expect(life.closings == [1: .completed])
        #expect(life.state.isEmpty)
    }

    @Test func groupIsWhatBecameReadyDuringTheLastOne() {
        var life = WorkerLife(slots: 4)
        life.claim(1, 2, 3, 4)
        for job in 1...4 as ClosedRange<Int64> { life.report(.ended(WorkerLife.fence(job), .output)) }
        life.report(.digested(WorkerLife.fence(1), nil))
        #expect(life.step == "link [1]")
        for job in 2...4 as ClosedRange<Int64> { life.report(.digested(WorkerLife.fence(job), nil)) }
        #expect(life.step == nil)
        life.report(.linked(fences(1), not: [:]))
        life.report(.published([WorkerLife.fence(1): .done]))
        life.report(.completed([WorkerLife.fence(1): .init(.completed)]))
        #expect(life.step == "link [2, 3, 4]")
    }

    @Test func mixedGroupIsPublishedThenReportedThenHandedBack() {
        var life = WorkerLife(slots: 4, groupLimit: 10)
        life.claim(1, 2, 3, 4)
        life.report(.ended(WorkerLife.fence(1), .existing))
        #expect(life.step == "publish [1]")
        life.report(.ended(WorkerLife.fence(2), .failed(AttemptFailure(WorkerLife.fence(2), Self.broken))))
        life.report(.ended(WorkerLife.fence(3), .handedBack(HandBack(.unable, need: "codec:flac"))))
        life.report(.ended(WorkerLife.fence(4), .existing))
        life.report(.published([WorkerLife.fence(1): .done]))
        life.report(.completed([WorkerLife.fence(1): .init(.completed)]))
        #expect(life.step == "publish [4]")
        life.report(.published([WorkerLife.fence(4): .done]))
        life.report(.completed([WorkerLife.fence(4): .init(.publishing)]))
        #expect(life.step == "fail [\"2 corrupt_stream\"]")
        life.report(.failuresReported([AttemptFailure(WorkerLife.fence(2), Self.broken)], [.done]))
        #expect(life.step == "hand back [3] codec:flac")
        life.report(.handedBack(fences(3), HandBack(.unable, need: "codec:flac"), [.done]))
        #expect(life.closings == [1: .completed, 2: .failed, 3: .released, 4: .publishing])
        #expect(life.step == nil)
    }

    @Test func refusedPublicationIsDiscardedAndUnansweredOneIsKept() {
        var life = WorkerLife(slots: 3)
        life.claim(1, 2, 3)
        for job in 1...3 as ClosedRange<Int64> { life.report(.ended(WorkerLife.fence(job), .output)) }
        for job in 1...3 as ClosedRange<Int64> { life.report(.digested(WorkerLife.fence(job), nil)) }
        life.report(.linked(fences(1), not: [:]))
        life.report(.published([WorkerLife.fence(1): .lost]))
        #expect(life.discarded == [1])
        life.report(.linked(fences(2, 3), not: [:]))
        life.report(.published([WorkerLife.fence(2): nil, WorkerLife.fence(3): .cancelled]))
        #expect(life.discarded == [3])
        #expect(life.closings == [1: .lost, 2: .lost, 3: .cancelled])
    }

    /// A scan takes as long as its source, and one that could not open it has taken no time.
    @Test func onlyScansThatReadTheirSourceCountAsWork() {
        let fence = WorkerLife.fence(1)
        func isShort(after result: JobResult) -> Bool {
            var life = WorkerLife(slots: 1)
            var claim = WorkerLife.claim(1)
            claim.recipe = Recipe(scanning: .init(location: "in:1.wav"))
            life.report(.claimed([claim], worker: 7, isEmpty: false))
            life.now += .milliseconds(10)
            life.report(.ended(fence, result))
            return life.state.planner.isShort
        }
        #expect(isShort(after: .existing))
        #expect(isShort(after: .failed(AttemptFailure(fence, Self.broken, facts: AttemptFacts(framesIn: 0)))))
        #expect(!isShort(after: .failed(AttemptFailure(fence, Self.broken))))
        #expect(!isShort(after: .stopped))
    }

    // MARK: - Claiming

    @Test func emptyClaimIsRepeatedAfterASignalOnly() {
        var life = WorkerLife()
        #expect(life.wanted == 2)
        life.claim()
        #expect(life.wanted == nil)
        life.pass(.seconds(1))
        #expect(life.wanted == nil)
        life.report(.workSignalled)
        #expect(life.wanted == 2)
        // A signal during the claim is not lost.
        life.report(.workSignalled)
        life.claim()
        #expect(life.wanted == 2)
    }

    @Test func unansweredClaimIsFollowedByAComparisonThatReleasesStrays() throws {
        var life = WorkerLife()
        life.report(.questionFailed(mayHaveHappened: true))
        #expect(life.isComparing)
        life.report(.compared(fences(5, 6), worker: 7))
        let strays = life.actions.compactMap { action -> [Fence]? in
            if case .ask(.releaseStrays(let strays)) = action { strays } else { nil }
        }
        #expect(strays == [fences(5, 6)])
        life.report(.straysReleased)
        #expect(life.wanted == 2)
    }

    @Test func jobThatCameOrEndedDuringAComparisonIsNoStray() {
        var life = WorkerLife(slots: 1)
        life.claim(1)
        life.report(.ended(WorkerLife.fence(1), .existing))
        life.pass(WorkerLife.lease)
        life.beat()
        life.pass(WorkerLife.lease / 2)
        life.claim()
        #expect(life.isComparing)
        life.report(.published([WorkerLife.fence(1): .done]))
        life.report(.completed([WorkerLife.fence(1): .init(.completed)]))
        life.report(.compared(fences(1), worker: 7))
        #expect(!life.actions.contains { if case .ask(.releaseStrays) = $0 { true } else { false } })
    }

    @Test func jobThatIsClaimedAgainRunsOnce() {
        var life = WorkerLife(slots: 2)
        life.claim(1)
        life.report(.workSignalled)
        life.claim(1, 2)
        #expect(life.started.map(\.fence.job) == [1, 2])
    }

    @Test func jobsClaimedAheadGoBackWhenTheyWaitTooLong() throws {
        var life = WorkerLife(slots: 1)
        life.claim(1, 2, 3)
        #expect(life.started.count == 1)
        let due = try #require(life.state.deadline(after: life.now))
        #expect(due == life.now + .seconds(5))
        life.pass(.milliseconds(4_990))
        #expect(life.step == nil)
        life.pass(.milliseconds(10))
        #expect(life.step == "hand back [2, 3] handed_back")
    }

    /// The ledger suspects the jobs with a slot if the worker is lost.
    @Test func onlyJobsInARoomHaveASlotInAHeartbeat() {
        var life = WorkerLife.afterAShortJob(pipelines: 3)
        life.claim(2, 3, 4, 5)
        #expect(life.started.map(\.fence.job) == [1, 2, 3, 4], "three wait for the only room")
        func slots() -> [Int64: Int16] {
            let jobs = life.state.beat(at: life.now)?.jobs ?? []
            return Dictionary(uniqueKeysWithValues: jobs.compactMap { job in job.slot.map { (job.fence.job, $0) } })
        }
        #expect(slots() == [:])
        life.report(.began(WorkerLife.fence(2)))
        #expect(slots() == [2: 0])
        life.report(.ended(WorkerLife.fence(2), .output))
        life.report(.began(WorkerLife.fence(3)))
        #expect(slots() == [3: 0], "the output of job 2 waits to be published")
    }

    @Test func jobThatWasLostBeforeHasASlotFromItsPreparationOn() {
        var life = WorkerLife(slots: 1)
        life.claim(1, 2, workersLost: 1)
        let beat = life.state.beat(at: life.now)
        #expect(beat?.jobs.map(\.slot) == [0, nil])
    }

    @Test func suspectsRunOneAtATime() {
        var life = WorkerLife(slots: 3)
        life.claim(1, 2, workersLost: 1)
        #expect(life.started.map(\.fence.job) == [1])
        life.report(.workSignalled)
        life.claim(3)
        #expect(life.started.map(\.fence.job) == [1, 3])
        life.report(.ended(WorkerLife.fence(1), .output))
        #expect(life.started.map(\.fence.job) == [1, 3, 2])
    }

    @Test func suspectsBeyondThoseThatCanFollowGoBackAndOthersFillTheSlots() throws {
        var life = WorkerLife(slots: 2)
        life.claim(1, 2, 3, 4, 5, 6, workersLost: 1)
        #expect(life.started.map(\.fence.job) == [1])
        #expect(life.step == "hand back [4, 5, 6] handed_back")
        #expect(try #require(life.handedBack?.hold) >= .seconds(8), "others come first at the next claim")
        #expect(life.wanted == 1, "for the idle slot")
        life.claim(7)
        #expect(life.started.map(\.fence.job) == [1, 7])
    }

    @Test func workerThatEndsWhenIdleKeepsItsSuspects() {
        var life = WorkerLife(slots: 2, endsWhenIdle: true)
        life.claim(1, 2, 3, 4, 5, 6, workersLost: 1)
        #expect(life.step == nil)
    }

    @Test func jobsThatWaitInASlotForALongOneGoBack() throws {
        var life = WorkerLife.afterAShortJob(pipelines: 3)
        // The last job was short, so that the slot takes three at once.
        life.claim(2, 3, 4)
        #expect(life.started.map(\.fence.job) == [1, 2, 3, 4])
        let progress = ConversionProgress(position: .zero, frames: 100, totalFrames: 1_000_000)
        life.now += .milliseconds(4_990)
        life.report(.progressed(WorkerLife.fence(2), progress))
        #expect(life.cancelled == [])
        life.now += .milliseconds(10)
        life.report(.progressed(WorkerLife.fence(2), progress))
        #expect(life.cancelled == [3, 4])
        life.report(.progressed(WorkerLife.fence(2), progress))
        #expect(life.cancelled == [], "once is enough")
        life.report(.ended(WorkerLife.fence(3), .stopped))
        #expect(life.step == "hand back [3] handed_back")
    }

    @Test func laterPipelinesPrepareOnlyShortJobs() {
        var life = WorkerLife.afterAShortJob(pipelines: 2)
        life.claim(2, 3, 4)
        #expect(life.started.map(\.pipeline.number) == [0, 0, 1])
    }

    // MARK: - The lease

    @Test func lostLeaseStopsAllButPublicationsAndRegistersAnew() {
        var life = WorkerLife(slots: 2)
        life.claim(1, 2, 3)
        life.report(.ended(WorkerLife.fence(1), .existing))
        #expect(life.step == "publish [1]")
        life.beat { $0.isAlive = false }
        #expect(life.cancelled == [2, 3])
        #expect(life.registers)
        #expect(life.notices == [.leaseLost(worker: 7, stopped: 3)])
        life.report(.published([WorkerLife.fence(1): .done]))
        #expect(life.step == "complete [1]")
        // The others' results are worth nothing.
        life.report(.ended(WorkerLife.fence(2), .output))
        #expect(life.discarded == [2])
        #expect(life.closings == [2: .lost])
        life.register(as: 8)
        #expect(life.notices.last == .registeredAgain(worker: 8))
    }

    @Test func workerGoesOnWithoutAnswersUntilItsLimit() throws {
        var life = WorkerLife(slots: 1)
        life.claim(1)
        life.pass(.seconds(29))
        life.report(.beatUnanswered(worker: 7))
        life.report(.beatUnanswered(worker: 7))
        #expect(life.notices == [.leaseOverdue(worker: 7, jobs: 1, keptFor: .seconds(31))])
        var revived = life
        revived.beat()
        #expect(revived.notices.last == .leaseRevived(worker: 7, jobs: 1))
        life.pass(.seconds(31))
        #expect(life.notices.last == .leaseLost(worker: 7, stopped: 1))
        #expect(life.cancelled == [1])
    }

    @Test func jobThatTheLedgerCountsAsLostIsDropped() {
        var life = WorkerLife(slots: 1)
        life.claim(1, 2)
        life.beat { $0.lost = [1, 2] }
        #expect(life.cancelled == [1])
        #expect(life.closings == [2: .lost])
        life.report(.ended(WorkerLife.fence(1), .stopped))
        #expect(life.closings == [1: .lost, 2: .lost])
    }

    @Test func claimOfALeaseThatIsOverIsDropped() {
        var life = WorkerLife()
        life.report(.refused(worker: 7))
        life.register(as: 8)
        life.report(.claimed([WorkerLife.claim(1)], worker: 7, isEmpty: false))
        #expect(life.started.isEmpty)
        #expect(life.closings == [1: .lost])
    }

    @Test func cancelledJobsAreReportedWhetherTheyBeganOrNot() {
        var life = WorkerLife(slots: 1)
        life.claim(1, 2)
        life.beat { $0.cancelled = [1, 2] }
        #expect(life.cancelled == [1])
        #expect(life.step == "fail [\"2 cancelled\"]")
        life.report(.ended(WorkerLife.fence(1), .stopped))
        life.report(.failuresReported([AttemptFailure(WorkerLife.fence(2), .cancelled)], [.cancelled]))
        #expect(life.step == "fail [\"1 cancelled\"]")
        #expect(life.closings == [2: .cancelled])
    }

    @Test func cancellationThatComesBeforeTheConversionRunsStopsIt() {
        var life = WorkerLife(slots: 1)
        life.claim(1)
        life.beat { $0.cancelled = [1] }
        life.report(.cancellable(WorkerLife.fence(1)))
        #expect(life.cancelled == [1])
    }

    @Test func jobsOfAPausedQueueGoBack() {
        var life = WorkerLife(slots: 1)
        life.claim(1, 2)
        life.beat { $0.pausedQueues = ["default"] }
        #expect(life.step == "hand back [2] handed_back")
        #expect(life.cancelled.isEmpty)
    }

    // MARK: - Roots and health

    @Test func jobsOfALostRootGoBackAndTheLedgerLearnsOfIt() {
        var life = WorkerLife(slots: 1)
        life.claim(1, 2)
        life.report(.rootsChanged(absent: ["in": "storage_unavailable: gone"], change: 1))
        let reasons = life.actions.compactMap { action -> String? in
            if case .publisher(.handBack(_, let why)) = action { why.message } else { nil }
        }
        #expect(reasons == ["root in: storage_unavailable: gone"])
        #expect(life.step == "hand back [2] root:in")
        #expect(
            life.actions.contains { action in
                if case .ask(.reportAbilities(let abilities, 7)) = action { abilities == ["root:out"] } else { false }
            }
        )
        // An older change that comes late changes nothing.
        life.report(.rootsChanged(absent: [:], change: 0))
        #expect(life.state.abilities == ["root:out"])
        life.report(.rootsChanged(absent: [:], change: 2))
        #expect(life.state.abilities == ["root:in", "root:out"])
    }

    @Test func jobsUnderWayInASilentRootGoBack() {
        var life = WorkerLife(slots: 2)
        life.claim(1, 2)
        life.report(.ended(WorkerLife.fence(1), .output))
        life.report(.rootsChanged(absent: ["in": "silent"], silent: ["in"], change: 1))
        #expect(life.cancelled == [2])
        life.report(.ended(WorkerLife.fence(2), .stopped))
        #expect(life.step == "hand back [2] root:in")
        life.report(.handedBack([WorkerLife.fence(2)], .without("in"), [.done]))
        // The digest of the first was given up.
        life.report(.digested(WorkerLife.fence(1), .handedBack(.without("in"))))
        #expect(life.step == "hand back [1] root:in")
        life.report(.handedBack([WorkerLife.fence(1)], .without("in"), [.done]))
        #expect(life.closings == [1: .released, 2: .released])
    }

    @Test func jobsOfOtherRootsGoOnWhileOneIsSilent() {
        var life = WorkerLife(slots: 2)
        life.claim(1)
        life.claim(2, root: "out")
        life.report(.rootsChanged(absent: ["in": "silent"], silent: ["in"], change: 1))
        #expect(life.cancelled == [1])
        // Only the change stops jobs.
        life.report(.rootsChanged(absent: ["in": "still silent"], silent: ["in"], change: 2))
        #expect(life.cancelled == [])
    }

    @Test func workerWithoutRootsPausesAndThenTriesOneJob() {
        var life = WorkerLife(slots: 2)
        life.claim()
        life.report(.rootsChanged(absent: ["in": "a", "out": "b"], change: 1))
        #expect(life.notices == [.paused(because: "a", wait: .seconds(5))])
        life.report(.abilitiesReported([], worker: 7))
        life.pass(.seconds(5))
        #expect(life.actions.contains { if case .ask(.checkRoots) = $0 { true } else { false } })
        life.report(.rootsChecked)
        #expect(life.notices.last == .paused(because: "a", wait: .seconds(10)))
        life.report(.rootsChanged(absent: [:], change: 2))
        life.report(.abilitiesReported(["root:in", "root:out"], worker: 7))
        #expect(life.wanted == 1)
        life.claim(1)
        life.report(.ended(WorkerLife.fence(1), .existing))
        life.report(.published([WorkerLife.fence(1): .done]))
        life.report(.completed([WorkerLife.fence(1): .init(.completed)]))
        #expect(life.notices.last == .resumed)
        #expect(life.wanted == 2)
    }

    // MARK: - Stopping

    @Test func stopHandsBackWhatWaitsAndGivesTheRestItsTime() {
        var life = WorkerLife(slots: 1)
        life.claim(1, 2)
        life.report(.stopAsked(deadline: life.now + .seconds(30)))
        #expect(life.notices == [.draining(running: 1, handedBack: 1)])
        #expect(life.step == "hand back [2] draining")
        life.report(.handedBack(fences(2), HandBack(.draining), [.done]))
        #expect(life.wanted == nil && !life.hasEnded)
        life.beat()
        life.pass(.seconds(30))
        #expect(life.cancelled == [1])
        life.report(.ended(WorkerLife.fence(1), .stopped))
        #expect(life.step == "hand back [1] draining")
        life.report(.handedBack(fences(1), HandBack(.draining), [.done]))
        #expect(life.hasEnded)
    }

    @Test func stopEndsEvenIfTheLedgerDoesNotAnswer() {
        var life = WorkerLife(slots: 1)
        life.claim(1)
        life.report(.stopAsked(deadline: life.now))
        #expect(life.cancelled == [1])
        life.report(.ended(WorkerLife.fence(1), .stopped))
        life.pass(WorkerState.lastWords)
        #expect(life.hasEnded)
    }

    @Test func idleWorkerStopsAtOnce() {
        var life = WorkerLife()
        life.report(.stopAsked(deadline: life.now + .seconds(30)))
        #expect(life.hasEnded)
        life.report(.stopAsked(deadline: life.now))
        #expect(!life.hasEnded)
    }

    private static let broken = Failure(.corruptStream, at: .decode, "a test")
}
