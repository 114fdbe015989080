import Testing

@testable import Command
@testable import Console

/// The help pages of all commands.
struct HelpPageTests {
    @Test func everyCommandAndOptionIsThere() {
        for path in CatalogueTests.paths {
            let page = HelpPage(path: path).lines(width: 80).joined(separator: "\n")
            for option in path.allOptions { #expect(page.contains("  \(option.usage)"), "\(option.word)") }
            for argument in path.last!.arguments { #expect(page.contains("  \(argument.name)"), "\(argument.name)") }
            for child in path.last!.children {
                #expect(page.contains("\n  \(child.name) ") != child.isHidden, "\(child.name)")
            }
            for example in path.last!.examples { #expect(page.contains("\n  \(example.line)\n")) }
            #expect(page.contains("-h, --help"))
        }
    }

    @Test(arguments: [80, 120])
    func noLineIsTooLong(width: Int) {
        for path in CatalogueTests.paths {
            for line in HelpPage(path: path).lines(width: width) {
                #expect(line.displayWidth <= width, "\(line)")
            }
        }
    }

    /// Lines for copying (usage and examples) are not wrapped at any width.
    @Test func proseFitsFortyColumns() {
        for path in CatalogueTests.paths {
            let kept = path.last!.examples.map { "  \($0.line)" } + ["  \(HelpPage(path: path).usage)"]
            for line in HelpPage(path: path).lines(width: 40) where !kept.contains(line) {
                #expect(line.displayWidth <= 40, "\(line)")
            }
        }
    }

    @Test func examplesComeBeforeOptions() throws {
        let page = HelpPage(path: [Catalogue.root, ConvertCommand.value]).lines(width: 80)
        let examples = try #require(page.firstIndex(of: "Examples:"))
        #expect(examples < 6)
    }

    @Test func defaultsVariablesAndChoicesAreSaid() {
        let page = HelpPage(path: [Catalogue.root, ConvertCommand.value]).lines(width: 200).joined(separator: "\n")
        #expect(page.contains("(strict, conceal, skip, trust-packets; default: strict; env SLUICE_ON_DAMAGE)"))
        #expect(page.contains("(repeatable)"))
    }

    @Test func titleIsPaintedWhereThereIsColour() {
        let lines = HelpPage(path: [Catalogue.root]).lines(width: 80) { text, ink in "<\(ink)>\(text)</>" }
        #expect(lines[0] == "<strong>sluice</>: sample-exact audio conversion, for one file or for millions")
    }
}
