import Glibc

/// What tests do in a separate process, which they kill, lock or measure, or which a trap may end. Each subcommand has its
/// own file.
@main
enum TestProgram {
    // Not async: that would start threads, and `hostile` must lock the only thread of its process.
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst(2))
        switch CommandLine.arguments.dropFirst().first {
        case "texts": GeneratedTexts.run(words)
        case "slot": SlotJobs.run(words)
        case "hostile": HostileAction.run(words)
        case "coordinators": Coordinators.run(words)
        default:
            print("usage: test-program texts|slot|hostile|coordinators [WORD]...")
            exit(64)
        }
    }
}
