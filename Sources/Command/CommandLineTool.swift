import Glibc
import Ledger
import PumpRoom

/// The command `sluice`, from its words to its exit code.
public enum CommandLineTool {
    /// Reads the process's arguments, does what they say and ends the process.
    public static func main() -> Never {
        print("sluice, libpq \(LibPQ.version), libav \(RoomLibraries.release)")
        exit(0)
    }
}
