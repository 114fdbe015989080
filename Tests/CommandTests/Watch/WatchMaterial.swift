import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

@testable import Command
@testable import Console

/// A ledger with jobs in many states, and the facts that `watch` reads from it, which tests modify.
struct WatchMaterial {
    let bench: LedgerBench
    /// Two running jobs (only the first has reported progress), and the waiting ones.
    let running: [Int64]
    let waiting: [Int64]
    let failed: Int64
    let worker: Int64

    init(waiting count: Int = 3) async throws {
        // The command does this when it starts.
        Locale.useUTF8()
        bench = try LedgerBench()
        failed = try await bench.failedJob()
        let jobs = try await bench.submit(2 + count, Submission(label: "podcasts"))
        (running, waiting) = (Array(jobs.prefix(2)), Array(jobs.dropFirst(2)))
        worker = try await bench.worker("pump-2")
        let fences = try await bench.claim(2, for: worker)
        _ = try await bench.heartbeat.beat(
            worker,
            [RunningJob(fences[0], frames: 710, totalFrames: 1_000, slot: 0), RunningJob(fences[1], slot: 1)],
            status: WorkerStatus(busySlots: 2, paces: [JobSpeed(job: jobs[0], speed: 241.3, remaining: 100)])
        )
        try await bench.submit(1, Submission(queue: "nightly"), stem: "night")
        try await bench.ledger.setPaused(true, queue: "nightly")
    }

    func look(_ query: WatchQuery = WatchQuery()) async throws -> WatchFacts {
        try await WatchFacts.look(at: bench.ledger, query)
    }

    func state(filter: WatchFilter = WatchFilter()) async throws -> WatchState {
        WatchState(try await look(WatchQuery(filter: filter)), filter: filter)
    }

    /// Updates the state with a key and with the look that the key triggers.
    func press(_ keys: Key..., in state: inout WatchState) async throws {
        for key in keys {
            if state.take(key) == .look { state.take(try await look(state.query)) }
        }
    }
}

extension WatchState {
    /// The lines of the screen, without colours.
    func screen(_ columns: Int = 80, _ rows: Int = 24, unicode: Bool = true) -> [String] {
        WatchPage(
            self,
            size: ScreenSize(columns: columns, rows: rows),
            style: ScreenStyle(unicode: unicode)
        ).lines
    }

    func text(_ columns: Int = 80, _ rows: Int = 24) -> String { screen(columns, rows).joined(separator: "\n") }
    func foot(_ columns: Int = 80) -> String { screen(columns).last ?? "" }
}

/// The change whose jobs a key asks to count.
func counted(_ effect: WatchState.Effect?) throws -> WatchChange {
    guard case .count(let what)? = effect else {
        throw SupportError("count something", "\(String(describing: effect))")
    }
    return what
}

/// The change that a confirmation triggers.
func carriedOut(_ effect: WatchState.Effect?) throws -> WatchChange {
    guard case .carryOut(let what)? = effect else {
        throw SupportError("do something", "\(String(describing: effect))")
    }
    return what
}
