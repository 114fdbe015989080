// The command as shipped. Its name makes it find `poisoned-sluice-room`.
import Command
import FoundationEssentials

CommandLineTool.run(
    (1..<max(1, Int(CommandLine.argc))).map { place in
        // The kernel passes argc arguments, none of which is null.
        String(validatingCString: CommandLine.unsafeArgv[place]!)
    },
    environment: ProcessInfo.processInfo.environment
)
