import BenchNames
import Foundation
import TestSupport

/// Compares the Media library with bare libav and with `ffmpeg`, and the ledger with pgqueuer and awa.
///
/// A missed target is reported but is no failure, because machines are noisy. The bench fails if a conversion fails
/// or gives another number of frames, or if a job is not done.
@main
enum Bench {
    static func main() async {
        do {
            // A process that the fleet section starts.
            let words = CommandLine.arguments.dropFirst()
            if words.first == FleetWorkers.word, let order = words.dropFirst().first {
                return try await FleetWorkers.run(order)
            }
            try await measure(Options(Array(CommandLine.arguments.dropFirst())))
        } catch let refusal as Options.Refusal {
            complain("bench: \(refusal.words)\n\(Options.usage)")
            exit(2)
        } catch {
            complain("bench: \(error)")
            exit(1)
        }
    }

    private static func measure(_ options: Options) async throws {
        var made: Workbench?
        // The ledger's sections need none of the workbench's programs.
        func bench() throws -> Workbench {
            let bench = try made ?? Workbench(options)
            made = bench
            return bench
        }
        var sections: [Section] = []
        for name in options.sections {
            complain("# \(name)")
            let found =
                switch name {
                case .start: [try StartBench.run(bench())]
                case .clips: [try ClipsBench.run(bench())]
                case .hour: [try HourBench.run(bench())]
                case .edit:
                    [
                        try EditBench.run(bench()), try OutputsBench.run(bench()), try WaveformBench.run(bench()),
                        try PointsBench.run(bench()),
                    ]
                case .memory: [try MemoryBench.run(bench())]
                case .slots: try await SlotMemoryBench.run(bench())
                case .soak: [try SoakBench.run(bench())]
                case .cluster: try await ClusterBench.run(bench())
                case .books: try await BooksBench.run(bench())
                case .lock: try LockBench.run(bench())
                case .poison: [try await PoisonBench.run(bench())]
                case .ledger: try await LedgerBench.run(isQuick: options.isQuick)
                case .singles: try await LedgerBench.runSingles(isQuick: options.isQuick)
                case .http: [try await HTTPBench.run(isQuick: options.isQuick)]
                case .lines: try await LinesBench.run(isQuick: options.isQuick)
                case .scale: [try await ScaleBench.run(isQuick: options.isQuick)]
                case .held: [try await HeldBench.run(isQuick: options.isQuick)]
                case .fleet: try await FleetBench.run(isQuick: options.isQuick, only: options.only)
                case .backup: try await BackupBench.run(isQuick: options.isQuick)
                }
            for section in found { print(section.text, terminator: "\n\n") }
            fflush(nil)
            sections += found
        }
        if let path = options.jsonPath { try Report.write(sections, to: path, isQuick: options.isQuick) }
    }

    /// Prints progress to standard error, so that it does not mix with the tables.
    static func complain(_ words: String) { FileHandle.standardError.write(Data((words + "\n").utf8)) }
}

/// The options on the command line.
struct Options {
    enum SectionName: String, CaseIterable {
        case start, clips, hour, edit, memory, slots, soak, cluster, books, lock, poison, ledger, singles, lines, http,
            scale
        case held, fleet, backup

        /// All sections except those that fill a disk or the memory, which run only if named.
        static var all: [SectionName] { allCases.filter { ![.scale, .held, .fleet, .backup].contains($0) } }
    }

    /// An argument that is not accepted.
    struct Refusal: Error { let words: String }

    private(set) var sections: [SectionName] = []
    /// Less of everything: shows whether the benches work, not how fast the programs are.
    private(set) var isQuick = false
    private(set) var jsonPath: String?
    /// The number of rounds in the sections that take turns, to shorten or lengthen a run.
    private(set) var rounds: Int?

    /// Words in the names of the fleets to measure; `nil` for all.
    private(set) var only: String?

    static let usage =
        "usage: bench [start|clips|hour|edit|memory|slots|soak|cluster|books|lock|poison|ledger|singles|lines|http|scale"
        + "|held|fleet|backup|all]... [--quick] [--rounds N] [--only FLEET] [--json FILE]"

    init(_ words: [String]) throws {
        var rest = words[...]
        while let word = rest.popFirst() {
            switch word {
            case "--quick": isQuick = true
            case "--json":
                guard let path = rest.popFirst() else { throw Refusal(words: "--json needs a file") }
                jsonPath = path
            case "--rounds":
                guard let count = rest.popFirst().flatMap({ Int($0) }), count > 0 else {
                    throw Refusal(words: "--rounds needs a number")
                }
                rounds = count
            case "--only":
                guard let words = rest.popFirst() else { throw Refusal(words: "--only needs words") }
                only = words
            case "all": sections = SectionName.all
            default:
                guard let section = SectionName(rawValue: word) else {
                    throw Refusal(words: "unknown section \"\(word)\"")
                }
                if !sections.contains(section) { sections.append(section) }
            }
        }
        if sections.isEmpty { sections = SectionName.all }
    }
}
