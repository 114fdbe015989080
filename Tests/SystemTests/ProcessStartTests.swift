import Foundation
import System
import TestSupport
import Testing

/// What a started program inherits.
struct ProcessStartTests {
    /// Runs a shell and returns what it prints and its process id.
    private func run(_ script: String, _ change: (inout ProcessStart) -> Void = { _ in }) throws -> (String, pid_t) {
        let pipe = try Pipe.open()
        var process = ProcessStart()
        process.streams = [(0, .nothingToRead), (1, .descriptor(pipe.writing.number)), (2, .descriptor(1))]
        process.closesFrom = 3
        change(&process)
        let variables = ["PATH": "/usr/bin:/bin", "WORD": "told"]
        let id = try process.start("/bin/sh", ["sh", "-c", script], environment: variables)
        var status: Int32 = 0
        #expect(retryingInterrupts { waitpid(id, &status, 0) } == id && status == 0)
        // The test holds the writing end, too, so what is read is what the pipe has now.
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        let count = retryingInterrupts { read(pipe.reading.number, &bytes, bytes.count) }
        return (String(decoding: bytes.prefix(max(0, count)), as: UTF8.self), id)
    }

    private func masks(_ text: String) -> [String: UInt64] {
        var masks: [String: UInt64] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(whereSeparator: \.isWhitespace)
            // The C library keeps signals 32 and 33 for itself.
            if parts.count == 2 { masks[String(parts[0])] = UInt64(parts[1], radix: 16).map { $0 & ~(3 << 31) } }
        }
        return masks
    }

    @Test func noSignalIsBlockedOrIgnored() throws {
        // A thread that blocks a signal, as those of a worker do, in a process that ignores SIGPIPE.
        let ignored = signal(SIGPIPE, SIG_IGN)
        var (set, before) = (sigset_t(), sigset_t())
        sigemptyset(&set)
        sigaddset(&set, SIGUSR1)
        pthread_sigmask(SIG_BLOCK, &set, &before)
        defer {
            pthread_sigmask(SIG_SETMASK, &before, nil)
            signal(SIGPIPE, ignored)
        }
        let script = "exec grep -E '^Sig(Blk|Ign):' /proc/self/status"
        let all = masks(try run(script).0)
        #expect(all == ["SigBlk:": 0, "SigIgn:": 0])
        let pipe: UInt64 = 1 << UInt64(SIGPIPE - 1)
        let one = masks(try run(script) { $0.ordinarySignals = [SIGPIPE] }.0)
        #expect(one["SigBlk:"] == 0 && (one["SigIgn:"] ?? pipe) & pipe == 0)
        let other = masks(try run(script) { $0.ordinarySignals = [SIGUSR2] }.0)
        #expect((other["SigIgn:"] ?? 0) & pipe == pipe)
    }

    @Test func onlyNamedDescriptorsAreInherited() throws {
        // Without O_CLOEXEC.
        let open = dup(STDERR_FILENO)
        defer { close(open) }
        #expect(open > 2)
        // The shell lists the folder by a descriptor of its own, which is closed when the names are looked at.
        let script = "for file in /proc/$$/fd/*; do [ -e $file ] && echo ${file##*/}; done; echo $WORD"
        #expect(try run(script).0 == "0\n1\n2\ntold\n")
    }

    @Test func groupAndSessionAreThoseThatWereAskedFor() throws {
        let script = "exec cut -d ' ' -f 5,6 /proc/self/stat"
        #expect(try run(script).0 == "\(getpgrp()) \(getsid(0))\n")
        let (group, one) = try run(script) { $0.group = .own }
        #expect(group == "\(one) \(getsid(0))\n")
        let (session, other) = try run(script) { $0.group = .ownSession }
        #expect(session == "\(other) \(other)\n")
    }

    @Test func aProgramThatIsNotThereIsAnError() throws {
        for searching in [false, true] {
            let error = #expect(throws: SystemError.self) {
                _ = try ProcessStart().start("no-such-program", ["no"], searching: searching)
            }
            #expect(error?.number == ENOENT && error?.call == "start no-such-program")
        }
    }
}
