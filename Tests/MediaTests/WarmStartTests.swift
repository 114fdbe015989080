import Foundation
import TestSupport
import Testing

/// Programs that stay loaded: a start of theirs does what any start does.
struct WarmStartTests {
    private func shell(_ script: String, input: Run.Input = .nothing, limit: Duration = .seconds(300)) throws -> Run {
        try Run.program("sh", ["-c", script], input: input, limit: limit, keepsLoaded: true)
    }

    @Test func startTellsOutputsAndStatus() throws {
        let run = try shell("cat; echo out; echo err >&2; exit 3", input: .data(Data("in\n".utf8)))
        #expect(run.status == .exited(3))
        #expect(run.outputText == "in\nout\n")
        #expect(run.errorText == "err\n")
        #expect(try shell("kill -9 $$").status == .signalled(SIGKILL))
        #expect(try shell("exit 0").succeeded)
    }

    @Test func startIsThatOfALoadedProgram() throws {
        let parents = try (0..<3).map { _ in try shell("echo $PPID").checked().outputText }
        #expect(Set(parents).count == 1)
        #expect(parents.first != "\(getpid())\n")
        #expect(try shell("echo \"$LD_PRELOAD\"").outputText == "\n")
    }

    @Test func startRunsInItsFolder() throws {
        let folder = try TemporaryFolder.create()
        let run = try Run.program("sh", ["-c", "pwd -P"], folder: folder.path, keepsLoaded: true)
        #expect(run.outputText == URL(fileURLWithPath: folder.path).resolvingSymlinksInPath().path + "\n")
    }

    @Test func startHasTheEnvironmentThatItIsGiven() throws {
        let given = ["PATH": "/usr/bin:/bin", "SLUICE_GIVEN": "a b"]
        let script = "echo \"$SLUICE_GIVEN\"; tr '\\0' '\\n' </proc/self/environ | grep -c ."
        let run = try Run.program("sh", ["-c", script], environment: given, keepsLoaded: true)
        // The shell adds the folder in which it runs, and no variable of the tests.
        #expect(run.outputText.hasPrefix("a b\n"))
        #expect(try #require(run.outputText.split(separator: "\n").last.flatMap { Int($0) }) <= 5, "\(run.outputText)")
        #expect(try shell("echo \"$SLUICE_GIVEN\"").outputText == "\n")
    }

    @Test func swiftProgramHasItsArguments() throws {
        let program = BuiltProgram.path("media-program")
        var outputs: Set<String> = []
        for words in [["nonsense"], ["read"], ["allocations", "a b"]] {
            let cold = try Run.program(program, words)
            let warm = try Run.program(program, words, keepsLoaded: true)
            #expect(warm.status == .exited(64) && warm.status == cold.status)
            #expect(warm.stdout == cold.stdout)
            #expect(warm.stderr == cold.stderr)
            outputs.insert(warm.outputText)
        }
        #expect(outputs.count == 3)
    }

    @Test func startBeyondItsLimitIsKilledWithItsChildren() throws {
        // A busy machine may need longer than the first limits to start the program.
        var output = ""
        for limit in [Duration.milliseconds(500), .seconds(5), .seconds(50)] where output.isEmpty {
            let run = try shell("sleep 1000 & echo $!; wait", limit: limit)
            #expect(run.status == .timedOut(limit))
            output = run.outputText
        }
        let child = try #require(Int32(output.trimmingCharacters(in: .newlines)))
        // The kernel ends a killed process in its own time.
        #expect(ProcessEnd(of: child).wait(until: .now + .seconds(300)))
    }
}
