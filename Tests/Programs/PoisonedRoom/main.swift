// The program of rooms as shipped, except that its rooms crash or misbehave at certain files.
import Glibc
import PoisonedReads
import RoomProgram

// Without this use, the linker would leave the replaced functions out.
precondition(poison_name(0) != nil, "there is poison")
setenv("LIBDISPATCH_LOG", "NO", 0)
setlocale(LC_CTYPE, "C.UTF-8")
RoomProcess.run(
    (1..<max(1, Int(CommandLine.argc))).map { place in
        // The kernel passes argc arguments, none of which is null.
        String(validatingCString: CommandLine.unsafeArgv[place]!) ?? ""
    }
)
