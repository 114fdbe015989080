import Command
import FoundationEssentials

CommandLineTool.run(
    (1..<max(1, Int(CommandLine.argc))).map { place in
        // The kernel gives argc words, and none of them is null.
        String(validatingCString: CommandLine.unsafeArgv[place]!)
    },
    environment: ProcessInfo.processInfo.environment
)
