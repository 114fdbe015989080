import Foundation
import TestSupport

/// The result of a program that ran to its end, and its cost according to the kernel.
struct MeasuredProgram {
    /// User and system time of the whole process, including its start.
    let cpuSeconds: Double
    /// From the program's start until its end was noticed.
    let wallSeconds: Double
    /// The program's standard output.
    let output: Data

    /// The measurements that the program printed.
    func figures() throws -> Figures { try Figures(output) }

    /// Runs a program on one core, or on any core if `core` is `nil`; throws unless it exits with 0.
    ///
    /// `input` becomes its standard input, /dev/null by default; it stays open here. Its standard error is this
    /// process's.
    static func run(
        _ program: String,
        _ arguments: [String],
        core: Int?,
        input: Int32? = nil
    ) throws -> MeasuredProgram {
        // taskset replaces itself with the program, so it adds no process.
        let words = (core.map { ["taskset", "-c", "\($0)"] } ?? []) + [program] + arguments
        let pipe = try OpenPipe.open()
        let clock = ContinuousClock()
        let start = clock.now
        let id = try spawn(words, input: input, output: pipe.writing)
        pipe.closeWriting()
        let output = readAll(pipe.reading)
        var status: Int32 = 0
        var usage = rusage()
        while wait4(id, &status, 0, &usage) < 0 {
            guard errno == EINTR else { throw SupportError("wait for \(program)", errno: errno) }
        }
        let wallSeconds = (clock.now - start) / .seconds(1)
        guard status == 0 else {
            let end = status & 0x7F == 0 ? "exited with \(status >> 8 & 0xFF)" : "died of signal \(status & 0x7F)"
            throw SupportError((words.prefix(8) + (words.count > 8 ? ["..."] : [])).joined(separator: " "), end)
        }
        return MeasuredProgram(cpuSeconds: usage.cpuSeconds, wallSeconds: wallSeconds, output: output)
    }

    private static func spawn(_ words: [String], input: Int32?, output: Int32) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] =
            ProcessInfo.processInfo.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { (arguments + variables).forEach { free($0) } }
        var id = pid_t()
        let problem = posix_spawnp(&id, words[0], &actions, nil, &arguments, &variables)
        guard problem == 0 else { throw SupportError("start \(words[0])", errno: problem) }
        return id
    }

    private static func readAll(_ descriptor: Int32) -> Data {
        var all = Data()
        var scratch = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &scratch, scratch.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return all }
            all.append(contentsOf: scratch.prefix(count))
        }
    }
}

extension rusage {
    /// User and system time together.
    fileprivate var cpuSeconds: Double {
        Double(ru_utime.tv_sec + ru_stime.tv_sec) + Double(ru_utime.tv_usec + ru_stime.tv_usec) / 1e6
    }
}
