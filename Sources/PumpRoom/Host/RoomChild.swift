import Glibc
import System

/// The process of a room, started and not yet reaped.
///
/// Create it and wait for it on the same thread. That thread must outlive it: the kernel kills a room when the
/// thread that started it ends.
final class RoomChild {
    /// How a process ended.
    enum End: Hashable { case exited(Int32), signalled(Int32), unknown }

    /// How the process ended and what it used in its life.
    struct Rest {
        var end: End
        var cpuMicroseconds: Int64
        var peakBytes: Int64
    }

    let id: pid_t
    /// A pidfd: readable once the process has ended.
    let handle: SharedDescriptor

    /// Adopts the child `id` of this thread; no other code may wait for it. Throws if it cannot
    /// be watched, after killing it.
    init(adopting id: pid_t) throws(SystemError) {
        // The room gets its own process group, because the worker decides how to pass on a terminal's signals. A
        // room started by `start` already has one.
        setpgid(id, id)
        let handle = SystemCall.processHandle(id)
        guard handle >= 0 else {
            let problem = errno
            _ = Glibc.kill(id, SIGKILL)
            _ = retryingInterrupts { waitpid(id, nil, 0) }
            throw SystemError(call: "pidfd_open", number: problem)
        }
        self.id = id
        self.handle = SharedDescriptor(adopting: handle)
    }

    /// Starts `executable` as a room. It inherits `socket` and, if given, `forkServer` at their fixed numbers, `stderr`
    /// as its standard error, and no other descriptor.
    static func start(
        _ executable: String,
        socket: SharedDescriptor,
        words stderr: SharedDescriptor,
        forkServer: SharedDescriptor?
    ) throws(SystemError) -> RoomChild {
        var room = ProcessStart()
        room.streams = [(0, .nothingToRead), (1, .discarded)]
        // In this order, because `stderr` may have number 3 and `socket` number 4. The number of `forkServer` is higher.
        room.streams += [(2, .descriptor(stderr.number)), (RoomStart.socket, .descriptor(socket.number))]
        if let forkServer { room.streams.append((RoomStart.forkServerSocket, .descriptor(forkServer.number))) }
        room.closesFrom = (forkServer == nil ? RoomStart.socket : RoomStart.forkServerSocket) + 1
        room.group = .own
        // `room` has only the descriptors' numbers, so keep the owners alive.
        defer { withExtendedLifetime((socket, stderr, forkServer)) {} }
        let id: Int32
        do throws(SystemError) {
            id = try room.start(executable, [RoomStart.name])
        } catch {
            throw SystemError(call: "start \(RoomExecutable.shown(executable))", number: error.number)
        }
        return try RoomChild(adopting: id)
    }

    /// Signals the room and every process in its group.
    func kill(_ number: Int32 = SIGKILL) { _ = Glibc.kill(-id, number) }

    /// Reaps the process; `nil` if it has not ended.
    func reap() -> Rest? {
        var waited = [pollfd(fd: handle.number, events: Int16(POLLIN), revents: 0)]
        guard poll(&waited, 1, 0) > 0 else { return nil }
        // Until the process is reaped, no other group can have its number.
        kill()
        var (status, usage) = (Int32(0), rusage())
        defer {
            // Reap the rest of the group, killed with it: a fork server that the room left behind unreported, or a
            // room that a fork server made in its last moment.
            while retryingInterrupts({ waitpid(-id, nil, 0) }) > 0 {}
        }
        guard retryingInterrupts({ wait4(id, &status, 0, &usage) }) == id else {
            // If SIGCHLD is ignored, the kernel reaps the process before this call.
            return Rest(end: .unknown, cpuMicroseconds: 0, peakBytes: 0)
        }
        let signal = status & 0x7F
        return Rest(
            end: signal == 0 ? .exited((status >> 8) & 0xFF) : .signalled(signal),
            cpuMicroseconds: usage.cpuMicroseconds,
            peakBytes: Int64(usage.ru_maxrss) << 10
        )
    }

    /// Bytes of memory that it uses now; `nil` if that cannot be read, as after its end.
    func residentBytes() -> Int64? {
        let file = open("/proc/\(id)/statm", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var text = [UInt8](repeating: 0, count: 128)
        let count = retryingInterrupts { read(file, &text, text.count) }
        guard count > 0 else { return nil }
        let fields = String(decoding: text[..<count], as: UTF8.self).split(separator: " ")
        return fields.count > 1 ? Int64(fields[1]).map { $0 * Int64(sysconf(Int32(_SC_PAGESIZE))) } : nil
    }
}

extension rusage {
    /// Processor time in user mode and in the kernel.
    var cpuMicroseconds: Int64 {
        Int64(ru_utime.tv_sec + ru_stime.tv_sec) * 1_000_000 + Int64(ru_utime.tv_usec + ru_stime.tv_usec)
    }
}

extension RoomChild.End: CustomStringConvertible {
    /// `SIGSEGV`, `exit status 70`
    var description: String {
        switch self {
        case .exited(let status): "exit status \(status)"
        case .signalled(let number): Self.names[number] ?? "signal \(number)"
        case .unknown: "an unknown exit status"
        }
    }

    private static let names: [Int32: String] = [
        SIGHUP: "SIGHUP", SIGINT: "SIGINT", SIGQUIT: "SIGQUIT", SIGILL: "SIGILL", SIGTRAP: "SIGTRAP",
        SIGABRT: "SIGABRT", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE", SIGKILL: "SIGKILL", SIGUSR1: "SIGUSR1",
        SIGSEGV: "SIGSEGV", SIGUSR2: "SIGUSR2", SIGPIPE: "SIGPIPE", SIGALRM: "SIGALRM", SIGTERM: "SIGTERM",
        SIGXCPU: "SIGXCPU", SIGXFSZ: "SIGXFSZ", SIGSYS: "SIGSYS",
    ]
}

extension RoomChild {
    /// Processor time that the process has used, by the kernel's count; `nil` once it has ended.
    var cpuMicroseconds: Int64? {
        var (clock, time) = (clockid_t(), timespec())
        guard clock_getcpuclockid(id, &clock) == 0, clock_gettime(clock, &time) == 0 else { return nil }
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }
}
