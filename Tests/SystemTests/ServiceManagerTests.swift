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

    /// A service closes all other descriptors that it has inherited.
    @Test func socketsAreForTheProcessThatTheManagerNames() {
        #expect(ServiceManager.socketCount([:]) == 0)
        #expect(ServiceManager.socketCount(["LISTEN_FDS": "2"]) == 0)
        #expect(ServiceManager.socketCount(["LISTEN_FDS": "2", "LISTEN_PID": "1"]) == 0)
        for (word, count): (String, Int32) in [("2", 2), ("0", 0), ("-1", 0), ("all", 0), ("2147483647", 0)] {
            #expect(ServiceManager.socketCount(["LISTEN_FDS": word, "LISTEN_PID": "\(getpid())"]) == count, "\(word)")
        }
    }

    @Test func aManagerThatDoesNotListenIsAnErrorNumber() {
        let manager = ServiceManager(environment: ["NOTIFY_SOCKET": "/nowhere/notify"])
        #expect(manager?.notify(["READY=1"]) == ENOENT)
    }
}
