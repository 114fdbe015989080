import Glibc
import RoomProgram

// Without the right to raise priorities, libdispatch would write a line into the system's log in each run, and a locked room
// that opens a socket is killed. It reads this variable when it logs first, on any thread.
setenv("LIBDISPATCH_LOG", "NO", 0)
// Libraries that convert texts by the locale have the letters of UTF-8. Numbers keep the C locale.
setlocale(LC_CTYPE, "C.UTF-8")
RoomProcess.run(
    (1..<max(1, Int(CommandLine.argc))).map { place in
        // The kernel passes argc words, none of which is null. A word that is not UTF-8 is not one of this program's.
        String(validatingCString: CommandLine.unsafeArgv[place]!) ?? ""
    }
)
