// The command as shipped, except that its rooms crash or misbehave at certain files.
import Command
import FoundationEssentials
import PoisonedReads

// Without this use, the linker would leave the replaced functions out.
precondition(poison_name(0) != nil, "there is poison")
CommandLineTool.run(
    (1..<max(1, Int(CommandLine.argc))).map { place in
        // The kernel passes argc arguments, none of which is null.
        String(validatingCString: CommandLine.unsafeArgv[place]!)
    },
    environment: ProcessInfo.processInfo.environment
)
