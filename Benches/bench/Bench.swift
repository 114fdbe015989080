import BenchNames
import Foundation
import TestSupport

/// Measures the Media library beside bare libav and beside `ffmpeg`, and says what it found in a table.
///
/// A target that is missed is said and is no failure: machines are noisy. What fails is a conversion that fails, or
/// one that gives another number of frames.
@main
enum Bench {
    static func main() {
        do {
            try measure(Options(Array(CommandLine.arguments.dropFirst())))
        } catch let refusal as Options.Refusal {
            complain("bench: \(refusal.words)\n\(Options.usage)")
            exit(2)
        } catch {
            complain("bench: \(error)")
            exit(1)
        }
    }

    private static func measure(_ options: Options) throws {
        let bench = try Workbench(options)
        var sections: [Section] = []
        for name in options.sections {
            complain("# \(name)")
            let section =
                switch name {
                case .start: try StartBench.run(bench)
                case .clips: try ClipsBench.run(bench)
                case .hour: try HourBench.run(bench)
                case .memory: try MemoryBench.run(bench)
                case .soak: try SoakBench.run(bench)
                }
            print(section.text, terminator: "\n\n")
            fflush(nil)
            sections.append(section)
        }
        if let path = options.jsonPath { try Report.write(sections, to: path, isQuick: options.isQuick) }
    }

    /// Says how far it is, where it is not in the way of the tables.
    static func complain(_ words: String) { FileHandle.standardError.write(Data((words + "\n").utf8)) }
}

/// What was asked for on the command line.
struct Options {
    enum SectionName: String, CaseIterable { case start, clips, hour, memory, soak }

    /// A word that means nothing here.
    struct Refusal: Error { let words: String }

    private(set) var sections: [SectionName] = []
    /// Less of everything: says whether it works, not how well.
    private(set) var isQuick = false
    private(set) var jsonPath: String?

    static let usage = "usage: bench [start|clips|hour|memory|soak|all]... [--quick] [--json FILE]"

    init(_ words: [String]) throws {
        var rest = words[...]
        while let word = rest.popFirst() {
            switch word {
            case "--quick": isQuick = true
            case "--json":
                guard let path = rest.popFirst() else { throw Refusal(words: "--json wants a file") }
                jsonPath = path
            case "all": sections = SectionName.allCases
            default:
                guard let section = SectionName(rawValue: word) else { throw Refusal(words: "what is \"\(word)\"?") }
                if !sections.contains(section) { sections.append(section) }
            }
        }
        if sections.isEmpty { sections = SectionName.allCases }
    }
}
