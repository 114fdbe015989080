import CSandbox
import Glibc
import System

/// The system calls that a locked room may make. Any other call ends it with SIGSYS.
enum SystemCallFilter {
    /// A permitted call, with the conditions on its arguments.
    private struct Rule {
        let name: String
        let arguments: [scmp_arg_cmp]

        init(_ name: String, _ arguments: scmp_arg_cmp...) {
            self.name = name
            self.arguments = arguments
        }
    }

    /// The calls that converting between open descriptors needs, the most frequent first.
    private static func rules(process: pid_t) -> [Rule] {
        [
            // Reading and writing. Descriptors arrive over the socket only.
            Rule("pread64"), Rule("pwrite64"), Rule("read"), Rule("write"), Rule("lseek"),
            Rule("sendmsg", equal(0, UInt64(RoomStart.socket))),
            Rule("recvmsg", equal(0, UInt64(RoomStart.socket))),
            Rule("close"), Rule("fstat"), Rule("ftruncate"), Rule("fadvise64"), Rule("poll"), Rule("ppoll"),
            Rule("fcntl", equal(1, UInt64(F_GETFL))), Rule("fcntl", equal(1, UInt64(F_GETFD))),
            Rule("fcntl", equal(1, UInt64(F_DUPFD_CLOEXEC))),
            // Memory, never executable.
            Rule("mmap", isNotExecutable), Rule("mprotect", isNotExecutable), Rule("munmap"), Rule("mremap"),
            Rule("brk"),
            // Waiting, clocks and resource usage.
            Rule("clock_gettime", isPlainClock), Rule("clock_getres", isPlainClock), Rule("gettimeofday"),
            Rule("clock_nanosleep", isPlainClock), Rule("nanosleep"), Rule("sched_yield"), Rule("restart_syscall"),
            Rule("getrusage"), Rule("getrandom"),
            Rule("sysinfo"), Rule("sched_getaffinity", equal(0, 0)), Rule("prlimit64", equal(0, 0), equal(2, 0)),
            Rule("getpid"), Rule("gettid"),
            // Exiting. abort() sends itself a signal.
            Rule("rt_sigprocmask"), Rule("rt_sigreturn"), Rule("tgkill", equal(0, UInt64(process))), Rule("exit"),
            Rule("exit_group"),
        ] + advice.map { Rule("madvise", equalWord(2, $0)) } + futexes.map { Rule("futex", operation(1, $0)) }
    }

    /// The advice that the C library and `ProcessMemory` give: release memory, use large pages. Merging equal pages
    /// is not allowed, because it would reveal what other processes hold.
    private static let advice = [MADV_NORMAL, MADV_WILLNEED, MADV_DONTNEED, MADV_FREE, MADV_HUGEPAGE, MADV_NOHUGEPAGE]

    /// The operations behind the locks of the C library and Swift: wait, wake, and locks with priority inheritance.
    /// Requeuing is not allowed: most of the kernel's futex bugs were there.
    private static let futexes: [Int32] = [
        0, 1,  // FUTEX_WAIT, FUTEX_WAKE
        6, 7, 8, 13,  // FUTEX_LOCK_PI, FUTEX_UNLOCK_PI, FUTEX_TRYLOCK_PI, FUTEX_LOCK_PI2
        9, 10,  // FUTEX_WAIT_BITSET, FUTEX_WAKE_BITSET
    ]
    /// FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME may be combined with any operation.
    private static let futexFlags: UInt64 = 128 | 256

    /// Filters the calls of all existing threads. No thread can be started later, because no rule allows clone.
    static func load() throws(RoomLock.Refusal) {
        LastCall.prepare()
        guard let filter = seccomp_init(SCMP_ACT_TRAP) else {
            throw RoomLock.Refusal("libseccomp failed to initialize")
        }
        defer { seccomp_release(filter) }
        // Other system call ABIs of the same processor, such as the 32-bit one, number their calls differently.
        try check(seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), "foreign calls")
        try check(seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1), "all threads")
        for rule in rules(process: getpid()) {
            let number = seccomp_syscall_resolve_name(rule.name)
            // Some calls do not exist on every architecture.
            guard number >= 0 else { continue }
            let added = seccomp_rule_add_array(
                filter,
                SCMP_ACT_ALLOW,
                number,
                UInt32(rule.arguments.count),
                rule.arguments
            )
            try check(added, rule.name)
        }
        try refuseReading(filter)
        try check(seccomp_load(filter), "load")
    }

    /// Fails glibc's attempts to open files for reading with an error instead of ending the room. Its iconv looks
    /// for conversion tables when a transport stream names its programmes, and works without them. A call that would
    /// write or create a file does not come from iconv, so it still ends the room.
    private static func refuseReading(_ filter: scmp_filter_ctx) throws(RoomLock.Refusal) {
        let writes = UInt64(O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND)
        for (name, flags) in [("open", UInt32(1)), ("openat", 2)] {
            let number = seccomp_syscall_resolve_name(name)
            guard number >= 0 else { continue }
            let reads = [scmp_arg_cmp(arg: flags, op: SCMP_CMP_MASKED_EQ, datum_a: writes, datum_b: 0)]
            try check(seccomp_rule_add_array(filter, SLUICE_REFUSE_ACCESS, number, 1, reads), name)
        }
    }

    private static func check(_ result: Int32, _ what: String) throws(RoomLock.Refusal) {
        guard result == 0 else { throw RoomLock.Refusal("\(what): \(systemText(-result))") }
    }

    private static func equal(_ place: UInt32, _ value: UInt64) -> scmp_arg_cmp {
        scmp_arg_cmp(arg: place, op: SCMP_CMP_EQ, datum_a: value, datum_b: 0)
    }

    /// For 32-bit arguments: the kernel ignores the upper half of the register.
    private static func equalWord(_ place: UInt32, _ value: Int32, ignoring flags: UInt64 = 0) -> scmp_arg_cmp {
        scmp_arg_cmp(
            arg: place,
            op: SCMP_CMP_MASKED_EQ,
            datum_a: 0xFFFF_FFFF & ~flags,
            datum_b: UInt64(UInt32(bitPattern: value))
        )
    }

    private static func operation(_ place: UInt32, _ value: Int32) -> scmp_arg_cmp {
        equalWord(place, value, ignoring: futexFlags)
    }

    /// The clocks of the machine and of the room itself have numbers below 8. The clocks of other processes are not
    /// allowed: they would reveal that the processes exist and how busy they are.
    private static let isPlainClock = scmp_arg_cmp(
        arg: 0,
        op: SCMP_CMP_MASKED_EQ,
        datum_a: 0xFFFF_FFF8,
        datum_b: 0
    )

    private static let isNotExecutable = scmp_arg_cmp(
        arg: 2,
        op: SCMP_CMP_MASKED_EQ,
        datum_a: UInt64(PROT_EXEC),
        datum_b: 0
    )
}
