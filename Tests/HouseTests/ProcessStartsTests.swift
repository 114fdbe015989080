import Foundation
import TestSupport
import Testing

/// Processes are started by `System.ProcessStart`, which forgets no descriptor, signal or group. What calls the system itself
/// has its reason here.
struct ProcessStartsTests {
    /// A call that makes a process or turns this one into another program, for grep and for Swift.
    private static let start =
        #"\b(posix_spawnp?|v?fork|forkpty|daemon|clone3?|popen|system) *\(|"#
        + #"\b(execv|execve|execvp|execvpe|execveat|execl|execle|execlp|fexecve) *\(|"#
        + #"SYS_(fork|vfork|clone3?|execve|execveat)\b|[^A-Za-z_]Process\(\)"#

    /// The files that call the system themselves, and why.
    private static let reasons = [
        "Sources/System/ProcessStart.swift": "starts processes for all others",
        "Sources/CSandbox/shim.h": "copies the fork server of a slot, which has one thread and inherits its lock",
        "Sources/PumpRoom/Sandbox/SiblingProcess.swift": "names that copy for Swift",
        "Sources/RoomProgram/ForkServer.swift": "makes rooms as such copies",
        "Sources/Console/Terminal/Pager.swift": "gives a text to the pager, which is a line of the user's for a shell",
        "Tests/Programs/WarmStart/warm_start.c": "imitates a process that forks",
        "Tests/Programs/HostileActions/HostileActions.c": "tries in a room what the lock must refuse",
    ]

    @Test func onlyProcessStartStartsPrograms() throws {
        let root = try SourceTree().root
        let kinds = ["swift", "h", "c"].map { "--include=*.\($0)" }
        let words = ["-rnE", Self.start, "Sources", "Tests/Programs"] + kinds
        let found = try Run.program("grep", words, folder: root.path).checked().outputText
            .split(separator: "\n")
            .map { $0.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false) }
            .filter { !Self.isComment($0[2]) }
        let places = Set(found.map { String($0[0]) })
        for line in found where Self.reasons[String(line[0])] == nil {
            Issue.record("\(line[0]):\(line[1]) starts a process: use ProcessStart")
        }
        for place in Self.reasons.keys where !places.contains(place) {
            Issue.record("\(place) starts no process any more: take it from the list")
        }
    }

    @Test(arguments: [
        ("let problem = posix_spawn(&id, program)", true), ("posix_spawnp(&id, program)", true),
        ("pid_t id = fork();", true), ("let process = Foundation.Process()", true),
        ("let opened = popen(command, \"w\")", true), ("return syscall(SYS_execve, words);", true),
        ("let process = Process()", true), ("execvp(words[0], words)", true), ("pid = vfork ();", true),
        ("let process = ProcessStart()", false), ("var process = SlotProcess()", false),
        ("posix_spawnattr_init(&attributes)", false),
        ("var actions = posix_spawn_file_actions_t()", false), ("run(fork: true)", false),
        ("operatingsystem(a)", false),
        ("try connection.execute(text)", false),
    ])
    func startsAreRecognised(line: String, is: Bool) throws { #expect(try line.contains(Regex(Self.start)) == `is`) }

    private static func isComment(_ line: Substring) -> Bool {
        let text = line.drop { $0 == " " }
        return text.hasPrefix("//") || text.hasPrefix("*") || text.hasPrefix("/*")
    }
}
