import Command
import FoundationEssentials
import Glibc

// Without the right to raise priorities, libdispatch would write a line into the system's log in each run. It reads this
// variable when it logs first, on any thread.
setenv("LIBDISPATCH_LOG", "NO", 0)
let words = (1..<max(1, Int(CommandLine.argc))).map { place in
    // The kernel passes argc words, none of which is null.
    String(validatingCString: CommandLine.unsafeArgv[place]!)
}
CommandLineMemory.hidePasswords()
// The kernel passes at least the program's name, but Swift reads the words from /proc.
let areKnown = CommandLine.argc > 0
CommandLineTool.run(areKnown ? words : nil, environment: ProcessInfo.processInfo.environment)
