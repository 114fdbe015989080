import Foundation
import TestSupport
import Testing

/// Every process that a command starts ends before the command does, and the command reaps it.
struct ProcessEndTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder.create()
        // Three minutes: about a second of work for Opus.
        let sweep = Signal.sweep(rate: 44_100, frames: 44_100 * 180).pcm(.s16)
        try WAVFile.write(sweep, to: folder.path("in.wav"))
    }

    private static let slow = ["convert", "in.wav", "out.opus"]

    @Test(arguments: [
        ["probe", "in.wav", "--scan"], ["presets", "--for", "in.wav"], ["convert", "in.wav", "out.flac"],
    ])
    func noProcessOutlivesACommand(words: [String]) throws {
        let watched = try Watched(words, in: folder)
        let end = try watched.end()
        #expect(end.status == .exited(0))
        #expect(!watched.descendants.isEmpty)
        #expect(watched.left.isEmpty)
    }

    @Test func thePlanOfASubmissionLeavesNoProcess() throws {
        for name in ["a.wav", "b.wav"] {
            try FileManager.default.copyItem(atPath: folder.path("in.wav"), toPath: folder.path(name))
        }
        let words = ["submit", "in.wav", "a.wav", "b.wav", "--to", "{stem}.flac", "--dry-run", "--probe"]
        let watched = try Watched(words, in: folder)
        #expect(try watched.end().status == .exited(0))
        #expect(watched.left.isEmpty)
    }

    /// What an exit handler frees, a thread that ends at the same time frees as well.
    @Test(arguments: [["--version"], ["--nonsense"], ["convert", "in.wav", "out.flac"]])
    func noExitHandlerOfALibraryRuns(words: [String]) throws {
        let environment = Sluice.environment(["LD_DEBUG": "files"])
        let run = try Run.program(Sluice.path, words, environment: environment, folder: folder.path)
        #expect(run.errorText.contains("calling init:"))
        #expect(!run.errorText.contains("calling fini:"))
    }

    @Test func aConversionsProcessorTimeIsTheCommands() throws {
        let watched = try Watched(Self.slow, in: folder)
        let end = try watched.end()
        #expect(end.status == .exited(0))
        // The command itself takes a few hundredths of a second; the work is done in the room.
        #expect(end.cpuSeconds > 0.2, "\(end.cpuSeconds) s")
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func noProcessOutlivesAnInterruptedConversion(signal: Int32) throws {
        let watched = try Watched(Self.slow, in: folder) { watched in kill(watched.id, signal) }
        #expect(try watched.end().status == .signalled(signal))
        #expect(!watched.descendants.isEmpty)
        #expect(watched.left.isEmpty)
    }

    /// A stopped room does not react to a request to end.
    @Test func aRoomThatDoesNotAnswerIsKilledAndWaitedFor() throws {
        let watched = try Watched(Self.slow, in: folder) { watched in
            watched.untilRoomWorks()
            for room in watched.descendants { kill(room, SIGSTOP) }
            kill(watched.id, SIGINT)
            kill(watched.id, SIGINT)
        }
        let end = try watched.end()
        #expect(end.status == .signalled(SIGINT))
        #expect(!watched.descendants.isEmpty)
        #expect(watched.left.isEmpty)
    }

    @Test func noProcessOutlivesAFailure() throws {
        try Bytes.write(Array(try Bytes.read(folder.path("in.wav")).prefix(1_000_000)), to: folder.path("cut.wav"))
        let watched = try Watched(["convert", "cut.wav", "out.flac"], in: folder)
        #expect(try watched.end().status == .exited(1))
        #expect(watched.left.isEmpty)
    }
}

/// A command together with the processes that it starts.
private final class Watched {
    struct End {
        let status: Run.Status
        /// The processor time of the command and of all the processes that it reaped.
        let cpuSeconds: Double
    }

    let id: pid_t
    private(set) var descendants: Set<pid_t> = []

    /// Starts the command. Calls `onRoom` once the command has started a process.
    init(_ words: [String], in folder: TemporaryFolder, onRoom: (Watched) -> Void = { _ in }) throws {
        let null = open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(null) }
        id = try ChildProcess.spawn(
            Sluice.path,
            words,
            environment: Sluice.environment(),
            folder: folder.path,
            input: nil,
            output: null,
            errors: null
        ).id
        // Looks at /proc, which sends no events, without pause: a child may end soon after its start.
        while descendants.isEmpty, !hasEnded { look() }
        onRoom(self)
    }

    /// Waits until one of the processes has used a tenth of a second of processor time, so that it is a working room.
    func untilRoomWorks() {
        // The kernel sends no event for processor time, and `look` must not miss a child that ends soon.
        while !hasEnded {
            look()
            for room in descendants {
                // 4711 (sluice) S ...: the user time is the twelfth field after the name, in ticks of 10 ms.
                let facts = (try? String(contentsOfFile: "/proc/\(room)/stat", encoding: .utf8)) ?? ""
                let fields = facts.split(separator: ")").last?.split(separator: " ") ?? []
                if fields.count > 11, let ticks = Int(fields[11]), ticks >= 10 { return }
            }
        }
    }

    /// Whether the command has ended. Does not reap it.
    private var hasEnded: Bool {
        var facts = siginfo_t()
        return waitid(P_PID, id_t(id), &facts, WEXITED | WNOHANG | WNOWAIT) == 0 && facts.si_signo == SIGCHLD
    }

    private func look() {
        for task in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/task")) ?? [] {
            let text = try? String(contentsOfFile: "/proc/\(id)/task/\(task)/children", encoding: .utf8)
            descendants.formUnion((text ?? "").split(separator: " ").compactMap { pid_t($0) })
        }
    }

    func end() throws -> End {
        // Without pause, for the same reason.
        while !hasEnded { look() }
        var (status, usage) = (Int32(0), rusage())
        guard wait4(id, &status, 0, &usage) == id else { throw SupportError("wait for sluice", errno: errno) }
        let signal = status & 0x7F
        let seconds = Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        let rest = Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
        return End(
            status: signal == 0 ? .exited((status >> 8) & 0xFF) : .signalled(signal),
            cpuSeconds: seconds + rest
        )
    }

    /// The descendants that still exist, running or as zombies.
    var left: [pid_t] { descendants.filter { kill($0, 0) == 0 } }
}
