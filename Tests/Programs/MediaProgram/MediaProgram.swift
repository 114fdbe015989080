import Glibc

/// What the tests of Media do in a separate process, which is limited, measured, or ended by a trap. It links Media alone.
@main
enum MediaProgram {
    static func main() throws {
        let words = Array(CommandLine.arguments.dropFirst(2))
        switch CommandLine.arguments.dropFirst().first {
        case "convert": try MediaConversion.run(words)
        case "read": try FileReading.run(words)
        case "allocations": try PumpAllocations.run(words)
        default:
            print("usage: media-program convert|read|allocations [WORD]...")
            exit(64)
        }
    }
}
