import Console
import Conversion
import Coordinator
import Synchronization
import System
import Worker

/// Tells the service manager how a service is doing: when it is ready, what it does, and that it is alive.
final class ServiceReport: Sendable {
    private let manager: ServiceManager
    private let state: Mutex<ServiceStatus>
    private let said = Mutex<String?>(nil)

    /// `nil` if no service manager listens.
    init?(_ environment: [String: String], slots: Int? = nil) {
        guard let manager = ServiceManager(environment: environment) else { return nil }
        self.manager = manager
        state = Mutex(ServiceStatus(slots: slots))
    }

    /// How often the service should show a sign of life: half as long as the watchdog waits.
    var pulse: Duration { manager.watchdogInterval.map { min($0 / 2, Self.longestPulse) } ?? Self.longestPulse }

    /// So that what people see of the service is not older.
    private static let longestPulse = Duration.seconds(15)

    /// `grace` is the time that a stop may take.
    func note(_ event: WorkerEvent, grace: Duration) {
        switch event {
        // The first room has passed its checks, so the worker can do what it was started for.
        case .rooms: notify(["READY=1"])
        case .draining:
            // The manager must not kill a worker that gives its jobs the time that its settings allow.
            let limit = grace + .seconds(15)
            notify(["STOPPING=1", "EXTEND_TIMEOUT_USEC=\(limit.components.seconds * 1_000_000)"])
        case .idle: notify(["STOPPING=1"])
        default: break
        }
        state.withLock { $0.note(event, at: .now) }
    }

    func note(_ event: CoordinatorEvent) {
        switch event {
        case .started: notify(["READY=1"])
        case .stopped: notify(["STOPPING=1"])
        default: break
        }
        state.withLock { $0.note(event) }
    }

    /// The service is alive.
    func beat(_ load: WorkerLoad? = nil) {
        let status = state.withLock { state in
            if let load { state.load = load }
            return state.line(at: .now)
        }
        let isNew = said.withLock { said in
            defer { said = status }
            return said != status
        }
        notify((manager.watchdogInterval == nil ? [] : ["WATCHDOG=1"]) + (isNew ? ["STATUS=\(status)"] : []))
    }

    private func notify(_ lines: [String]) {
        guard !lines.isEmpty else { return }
        // Sluice does not stop because a manager is gone or overloaded: the next message may arrive.
        manager.notify(lines)
    }
}
