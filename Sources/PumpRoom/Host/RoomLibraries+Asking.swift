import FoundationEssentials
import Glibc
import System

extension RoomLibraries {
    /// Loading libav takes a few hundredths of a second, on a busy machine or from a slow disk much more.
    private static let timeLimit: Duration = .seconds(30)
    private static let byteLimit = 64 << 10

    /// The libraries of this program's rooms. Starts `sluice-room` and waits for its answer.
    public static func asking() throws(RoomProgramError) -> RoomLibraries { try asking(RoomExecutable.own.startPath) }

    /// The same for the program `executable`, which must have the version of this one.
    public static func asking(_ executable: String) throws(RoomProgramError) -> RoomLibraries {
        try asking(executable, timeLimit: timeLimit)
    }

    /// The same for a program that may take `timeLimit` until it has ended.
    static func asking(_ executable: String, timeLimit: Duration) throws(RoomProgramError) -> RoomLibraries {
        let shown = RoomExecutable.shown(executable)
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try answer(of: executable, within: timeLimit)
        } catch {
            throw RoomProgramError("cannot start \(shown): \(systemText(error.number))")
        }
        // `try?`: without a version, the next lines say what is wrong. Another version may name codecs unknown here.
        if let build = try? JSONDecoder().decode(Build.self, from: Data(bytes)).build, build != SluiceBuild.number {
            throw RoomProgramError("\(RoomProgramError.mismatch(build: build)): \(shown)")
        }
        // `try?`: what it says instead is not for people, and the error of JSON even less.
        guard let libraries = try? JSONDecoder().decode(RoomLibraries.self, from: Data(bytes)) else {
            throw RoomProgramError("\(shown) does not say which libraries it has, as this version of sluice expects")
        }
        return libraries
    }

    private struct Build: Decodable {
        let build: String
    }

    /// What the program prints; nothing if it prints too much or does not end in time.
    private static func answer(of executable: String, within time: Duration) throws(SystemError) -> [UInt8] {
        let deadline: SuspendingClock.Instant = .now + time
        let (id, output) = try start(executable)
        let bytes = read(output, until: deadline)
        // It may close its output and stay. Without an answer, it is not waited for.
        let rest = bytes == nil ? .zero : SuspendingClock.now.duration(to: deadline)
        let status = StartedProcess.end(of: id, within: rest)
        return status == nil ? [] : bytes ?? []
    }

    /// Its process id, and its standard output. A separate function, so that our writing end of the pipe is closed.
    @inline(never)
    private static func start(_ executable: String) throws(SystemError) -> (pid_t, SharedDescriptor) {
        let pipe = try Pipe.open()
        var program = ProcessStart()
        program.streams = [(0, .nothingToRead), (1, .descriptor(pipe.writing.number)), (2, .discarded)]
        program.closesFrom = 3
        // `program` has only the descriptor's number, so keep the owner alive.
        defer { withExtendedLifetime(pipe) {} }
        let id = try program.start(executable, [RoomStart.name, RoomStart.librariesWord])
        return (id, pipe.reading)
    }

    /// Everything until the other end closes; `nil` if that is too much or takes too long.
    private static func read(_ output: SharedDescriptor, until deadline: SuspendingClock.Instant) -> [UInt8]? {
        var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 4_096))
        while bytes.count <= byteLimit {
            let rest = Int32(clamping: Int((deadline - .now) / .milliseconds(1)))
            var waited = pollfd(fd: output.number, events: Int16(POLLIN), revents: 0)
            guard rest > 0, retryingInterrupts({ Int(poll(&waited, 1, rest)) }) > 0 else { return nil }
            let count = retryingInterrupts { Glibc.read(output.number, &buffer, buffer.count) }
            guard count > 0 else { return count == 0 ? bytes : nil }
            bytes += buffer[..<count]
        }
        return nil
    }
}
