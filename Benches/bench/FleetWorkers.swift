import Foundation
import Synchronization
import TestSupport

/// A process of the fleet bench: simulates some of the workers, and prints what it has measured as a line of JSON.
enum FleetWorkers {
    /// The first argument of such a process.
    static let word = "fleet-workers"

    /// Returns once the measurement is over. The workers run on until the process exits.
    static func run(_ text: String) async throws {
        let order = try JSONDecoder().decode(FleetOrder.self, from: Data(text.utf8))
        let measurement = FleetMeasurement(from: order.from, until: order.until)
        let workers = try (0..<order.workers).map { try SimulatedWorker(order.first + $0, order, measurement) }
        let begin = ContinuousClock.now
        for (place, worker) in workers.enumerated() {
            Task {
                // Machines of a fleet do not all start in the same moment.
                let share = (Double(place) + 0.5) / Double(order.workers)
                try await Task.sleep(until: begin + .seconds(order.startSeconds * share), clock: .continuous)
                await worker.run()
            }
        }
        // All processes of the bench measure the same span of time.
        try await Task.sleep(until: measurement.from, clock: .continuous)
        let before = try Drain.ownSeconds()
        while .now < measurement.until {
            for worker in workers {
                let busy = await worker.busySlots
                measurement.count { $0.busySlots += busy }
            }
            measurement.count { $0.slotCounts += order.workers * order.slots }
            // A sample every second.
            try await Task.sleep(until: min(measurement.until, .now + .seconds(1)), clock: .continuous)
        }
        let cpuSeconds = try Drain.ownSeconds() - before
        measurement.countAlways { $0.cpuSeconds = cpuSeconds }
        let line = try JSONEncoder().encode(measurement.tally)
        FileHandle.standardOutput.write(line)
    }
}

/// The tally of a process, which counts only what happens during the measurement.
final class FleetMeasurement: Sendable {
    let from: ContinuousClock.Instant
    let until: ContinuousClock.Instant
    private let counted = Mutex(FleetTally())

    /// In seconds since 1970, so that several processes measure at the same time.
    init(from: Double, until: Double) {
        let (now, time) = (ContinuousClock.now, Date().timeIntervalSince1970)
        self.from = now + .seconds(from - time)
        self.until = now + .seconds(until - time)
    }

    var tally: FleetTally { counted.withLock { $0 } }

    func count(_ body: (inout FleetTally) -> Void) {
        let now = ContinuousClock.now
        guard now >= from, now < until else { return }
        countAlways(body)
    }

    /// Counts what also matters before the measurement.
    func countAlways(_ body: (inout FleetTally) -> Void) { counted.withLock { body(&$0) } }

    func note(_ error: any Error) {
        countAlways {
            $0.failedCalls += 1
            $0.firstFailure = $0.firstFailure ?? "\(error)"
        }
    }
}
