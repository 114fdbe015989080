import CSandbox
import Glibc

/// Locks the process that calls it, for good.
package enum RoomLock {
    /// What each layer answers where it cannot be had.
    struct Refusal: Error {
        let reason: String

        init(_ reason: String) { self.reason = reason }

        /// For a call that has just failed.
        init(call: String) { reason = SystemError(call: call, number: errno).text }
    }

    /// Locks as the defaults say, for programs that try the lock.
    package static func close() -> RoomLevel { close(RoomRules()) {} }

    /// Takes away all that carrying out jobs does not need, and says how far that went. Call on the process's only thread.
    ///
    /// `startThreads` starts those that the process needs later: they inherit what is locked by then, the rest is carried to
    /// them, and none can be started after it.
    static func close(_ rules: RoomRules, startThreads: () -> Void) -> RoomLevel {
        var level = RoomLevel(sandbox: rules.sandbox, user: UInt32(geteuid()))
        guard rules.sandbox != .off else {
            startThreads()
            return level
        }
        func add(_ layer: RoomLevel.Layer, _ lock: () throws(Refusal) -> Void) {
            do throws(Refusal) {
                try lock()
                level.layers.append(layer)
            } catch {
                level.missing.append(.init(layer: layer, reason: error.reason))
            }
        }
        // Cores would hold what the last file was. Before anything is locked, so that no layer depends on another's success.
        add(.limits) { () throws(Refusal) in try ProcessLimits.set(rules) }
        if RoomUser.isRoot { add(.ownUser) { () throws(Refusal) in level.user = try RoomUser.change() } }
        add(.noCapabilities, RoomUser.dropCapabilities)
        add(.noNewPrivileges) { () throws(Refusal) in
            guard sluice_prctl(PR_SET_NO_NEW_PRIVS, 1) == 0 else { throw Refusal(call: "prctl") }
        }
        // Changing users undoes both of these, and so they come after it.
        add(.notDumpable) { () throws(Refusal) in
            guard sluice_prctl(PR_SET_DUMPABLE, 0) == 0 else { throw Refusal(call: "prctl") }
        }
        diesWithItsStarter()
        add(.landlock) { () throws(Refusal) in level.landlockVersion = try Landlock.denyAll() }
        // Landlock binds the calling thread and those that it starts from here on; system calls are filtered for all.
        startThreads()
        ProcessLimits.forbidProcesses()
        add(.seccomp, SystemCallFilter.load)
        return level
    }

    /// Has the kernel kill the process when the thread that started it ends.
    static func diesWithItsStarter() { _ = sluice_prctl(PR_SET_PDEATHSIG, UInt(SIGKILL)) }
}
