// The command as it is, but for rooms that die of certain files.
import Command
import FoundationEssentials
import PoisonedReads

// Nothing else would have the linker take the reads in.
precondition(poison_name(0) != nil, "there is poison")
CommandLineTool.run(
    (1..<max(1, Int(CommandLine.argc))).map { place in
        // The kernel gives argc words, and none of them is null.
        String(validatingCString: CommandLine.unsafeArgv[place]!)
    },
    environment: ProcessInfo.processInfo.environment
)
