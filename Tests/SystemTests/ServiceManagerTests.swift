import Glibc
import System
import Testing

/// What a process learns from its service manager.
struct ServiceManagerTests {
    private func manager(_ variables: [String: String]) -> ServiceManager? {
        ServiceManager(environment: ["NOTIFY_SOCKET": "/run/notify"].merging(variables) { $1 })
    }

    @Test(arguments: ["", "relative", String(repeating: "/long", count: 30)]) func noSocketIsNoManager(name: String) {
        #expect(ServiceManager(environment: ["NOTIFY_SOCKET": name]) == nil)
        #expect(ServiceManager(environment: [:]) == nil)
    }

    @Test func theWatchdogIsForTheProcessThatItNames() {
        #expect(manager([:])?.watchdogInterval == nil)
        #expect(manager(["WATCHDOG_USEC": "3000000"])?.watchdogInterval == .seconds(3))
        #expect(manager(["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "\(getpid())"])?.watchdogInterval == .seconds(3))
        #expect(manager(["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"])?.watchdogInterval == nil)
        #expect(manager(["WATCHDOG_USEC": "0"])?.watchdogInterval == nil)
        #expect(manager(["WATCHDOG_USEC": "soon"])?.watchdogInterval == nil)
    }

    @Test func aManagerThatDoesNotListenIsAnErrorNumber() {
        let manager = ServiceManager(environment: ["NOTIFY_SOCKET": "/nowhere/notify"])
        #expect(manager?.notify(["READY=1"]) == ENOENT)
    }
}
