import CSandbox
import Glibc
import System

/// Locks the calling process for the rest of its life.
package enum RoomLock {
    /// Why a layer could not be applied.
    struct Refusal: Error {
        let reason: String

        init(_ reason: String) { self.reason = reason }

        /// For a system call that has just failed; reads errno.
        init(call: String) { reason = SystemError(call: call, number: errno).text }
    }

    /// Locks with the default rules, for programs that test the lock.
    package static func close() -> RoomLevel { close(.usual) {} }

    /// Gives up every right that conversions do not need, and reports how far that succeeded. Call it
    /// on the process's only thread.
    ///
    /// `startThreads` starts the threads that the process needs later. They inherit the layers applied before; the
    /// last layers cover all threads. No thread can be started afterwards.
    package static func close(_ rules: RoomRules, startThreads: () -> Void) -> RoomLevel {
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
        // A core dump would hold the contents of the last source. All layers are tried, whether or not others fail.
        add(.limits) { () throws(Refusal) in try ProcessLimits.set(rules) }
        if RoomUser.isRoot { add(.ownUser) { () throws(Refusal) in level.user = try RoomUser.change() } }
        add(.noCapabilities, RoomUser.dropCapabilities)
        add(.noNewPrivileges) { () throws(Refusal) in
            guard sluice_prctl(PR_SET_NO_NEW_PRIVS, 1) == 0 else { throw Refusal(call: "prctl") }
        }
        // Changing the user resets both of these, so they come after it.
        add(.notDumpable) { () throws(Refusal) in
            guard sluice_prctl(PR_SET_DUMPABLE, 0) == 0 else { throw Refusal(call: "prctl") }
        }
        diesWithItsStarter()
        add(.landlock) { () throws(Refusal) in level.landlockVersion = try Landlock.denyAll() }
        // Landlock covers the calling thread and the threads that it starts from now on. The system
        // call filter covers all threads.
        startThreads()
        ProcessLimits.forbidProcesses()
        add(.seccomp, SystemCallFilter.load)
        return level
    }

    /// Has the kernel kill this process when the thread that started it ends.
    package static func diesWithItsStarter() { _ = sluice_prctl(PR_SET_PDEATHSIG, UInt(SIGKILL)) }
}
