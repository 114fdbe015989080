import Command
import FoundationEssentials

let words = (1..<max(1, Int(CommandLine.argc))).map { place in
    // The kernel passes argc words, none of which is null.
    String(validatingCString: CommandLine.unsafeArgv[place]!)
}
CommandLineMemory.hidePasswords()
CommandLineTool.run(words, environment: ProcessInfo.processInfo.environment)
