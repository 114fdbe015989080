import Conversion
import Ledger
import Testing

@testable import WorkerRules

/// When a worker that works until it is idle ends: after a claim that it made without a job in hand found nothing.
struct IdleTests {
    private static let first = WorkerLife.fence(1)
    private static let broken = Failure(code: "test", kind: .infrastructure, stage: "open", message: "a test")

    /// Publishes the output of job 1, which is ready, up to the ledger's last answer.
    private func publish(_ life: inout WorkerLife) {
        life.report(.linked([Self.first], not: [:]))
        life.report(.published([Self.first: .done]))
    }

    @Test func endsAtOnceIfThereIsNoWork() {
        var life = WorkerLife(endsWhenIdle: true)
        #expect(life.wanted == 2)
        life.claim()
        #expect(life.hasEnded)
        #expect(life.notices == [.idle])
    }

    @Test func otherWorkersStay() {
        var life = WorkerLife()
        life.claim()
        life.pass(.seconds(1))
        #expect(!life.hasEnded && life.notices.isEmpty)
    }

    @Test func worksUntilItsPublicationIsDoneAndAsksOnceMore() {
        var life = WorkerLife(slots: 1, endsWhenIdle: true)
        life.claim(1)
        life.report(.ended(Self.first, .output))
        // The slot is free, so it asks, and there is nothing.
        #expect(life.wanted != nil)
        life.claim()
        #expect(!life.hasEnded)
        life.report(.digested(Self.first, nil))
        publish(&life)
        #expect(!life.hasEnded && life.wanted == nil)
        life.report(.completed([Self.first: .init(.completed)]))
        #expect(life.wanted != nil && !life.hasEnded)
        life.claim()
        #expect(life.hasEnded)
    }

    @Test func claimThatWasMadeWithAJobInHandDoesNotCount() {
        var life = WorkerLife(slots: 2, endsWhenIdle: true)
        life.claim(1)
        #expect(life.wanted == 1)
        // The job goes back to the ledger while the claim is under way.
        life.report(.ended(Self.first, .handedBack(HandBack(.handedBack))))
        life.report(.handedBack([Self.first], HandBack(.handedBack), [.done]))
        #expect(life.state.isEmpty)
        life.claim()
        #expect(!life.hasEnded)
        #expect(life.wanted == 2)
        life.claim()
        #expect(life.hasEnded)
    }

    @Test func signalDuringTheClaimMakesItAskAgain() {
        var life = WorkerLife(endsWhenIdle: true)
        life.report(.workSignalled)
        life.claim()
        #expect(!life.hasEnded && life.wanted == 2)
        life.claim()
        #expect(life.hasEnded)
    }

    @Test func refusedJobIsNoProofThatThereIsNoOther() {
        var life = WorkerLife(endsWhenIdle: true)
        life.report(.claimed([], worker: 7, isEmpty: false))
        #expect(!life.hasEnded && life.wanted == 2)
    }

    @Test func unansweredClaimProvesNothing() {
        var life = WorkerLife(endsWhenIdle: true)
        life.report(.questionFailed(mayHaveHappened: true))
        #expect(!life.hasEnded && life.isComparing)
        life.report(.compared([Self.first], worker: 7))
        life.report(.straysReleased)
        #expect(!life.hasEnded && life.wanted == 2)
        life.claim()
        #expect(life.hasEnded)
    }

    @Test func answerToAnEarlierLeaseProvesNothing() {
        var life = WorkerLife(endsWhenIdle: true)
        life.report(.refused(worker: 7))
        life.register(as: 8)
        life.report(.claimed([], worker: 7, isEmpty: true))
        #expect(!life.hasEnded)
    }

    @Test func staysWhileARootIsSetAside() {
        var life = WorkerLife(endsWhenIdle: true)
        life.report(.rootsChanged(absent: ["in": "gone"], change: 1))
        life.claim()
        #expect(!life.hasEnded)
        life.report(.abilitiesReported(["root:out"], worker: 7))
        life.claim()
        #expect(!life.hasEnded)
        life.report(.rootsChanged(absent: [:], change: 2))
        life.report(.abilitiesReported(["root:in", "root:out"], worker: 7))
        #expect(life.wanted == 2)
        life.claim()
        #expect(life.hasEnded)
    }

    @Test func quietWorkerStays() {
        var life = WorkerLife(endsWhenIdle: true)
        life.claim(1)
        life.beat { $0.wish = .quiet }
        life.report(.ended(Self.first, .existing))
        life.claim()
        life.report(.published([Self.first: .done]))
        life.report(.completed([Self.first: .init(.completed)]))
        #expect(!life.hasEnded && life.wanted == nil)
        life.beat()
        #expect(life.wanted == 2)
        life.claim()
        #expect(life.hasEnded)
    }

    @Test func pausedWorkerTriesAgainBeforeItEnds() {
        var life = WorkerLife(slots: 8, endsWhenIdle: true)
        life.claim(1, 2, 3, 4, 5)
        for job in 1...5 as ClosedRange<Int64> {
            let fence = WorkerLife.fence(job)
            let report = AttemptFailure(fence, Self.broken)
            life.report(.ended(fence, .failed(report)))
            life.report(.failuresReported([report], [.done]))
        }
        #expect(life.notices.count == 1)
        life.claim()
        #expect(!life.hasEnded && life.wanted == nil)
        life.pass(.seconds(5))
        life.report(.rootsChecked)
        #expect(life.wanted == 1)
        life.claim()
        #expect(life.hasEnded)
    }
}
