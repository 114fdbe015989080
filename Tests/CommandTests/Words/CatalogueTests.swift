import Testing

@testable import Command
@testable import Console

/// Rules that hold for every command.
struct CatalogueTests {
    /// The path to each command, from the root.
    static let paths: [[Subcommand]] = {
        func below(_ path: [Subcommand]) -> [[Subcommand]] {
            [path] + path[path.count - 1].children.flatMap { below(path + [$0]) }
        }
        return below([Catalogue.root])
    }()

    @Test func fallbacksAreReadable() throws {
        var count = 0
        for option in Self.paths.flatMap(\.last!.options) {
            guard let fallback = option.fallback else { continue }
            #expect(throws: Never.self, "\(option.word)") { try option.read(fallback) }
            count += 1
        }
        #expect(count > 3)
    }

    /// An empty value usually comes from an unset shell variable. No option takes one for what the user meant.
    @Test func emptyValuesAreRefused() {
        for path in Self.paths {
            for option in path.last!.options where !option.isSwitch {
                let isRoot = option.placeholder?.hasPrefix("NAME=PATH") == true
                for word in [""] + (isRoot ? ["w=", "=/srv", "=", "w"] : []) {
                    let line = "\(path.last!.name) \(option.word) \"\(word)\""
                    #expect(throws: Misfit.self, "\(line)") { try option.read(word) }
                }
            }
        }
    }

    /// An option of a command with children holds for all of them, but for those that leave it out.
    @Test func childrenTakeNoOptionThatTheyIgnore() {
        let ignored: [(path: [String], options: [String])] = [
            (["changes", "show"], ["--limit 5", "--before 5"]), (["changes", "stop"], ["--limit 5", "--before 5"]),
            (["changes", "undo"], ["--limit 5", "--before 5"]), (["workers", "quiet"], ["--ended-since 1d"]),
            (["workers", "drain"], ["--ended-since 1d"]), (["workers", "run"], ["--ended-since 1d"]),
            (["tokens", "create"], ["--ended", "--quiet", "-q"]), (["tokens", "revoke"], ["--ended"]),
            (["tenants", "create"], ["--json", "--quiet"]), (["webhooks", "create"], ["--quiet"]),
            (["webhooks", "test"], ["--json", "--quiet"]), (["webhooks", "retry"], ["--json", "-q"]),
            (["webhooks", "remove"], ["--json", "--quiet"]), (["presets", "remove"], ["--json", "--for a"]),
            (["presets", "add"], ["--for a"]), (["presets", "show"], ["--for a"]), (["presets", "diff"], ["--for a"]),
            (["config", "use"], ["--json", "--origin", "--context a", "--database a", "--url a", "--schema a"]),
            (["config", "contexts"], ["--origin", "--context a", "--database a"]),
            (["config", "set-context"], ["--json", "--origin", "--context a"]),
            (["config", "delete-context"], ["--json", "--origin", "--context a", "--insecure-http"]),
        ]
        let reader = WordReader(root: Catalogue.root, environment: [:])
        for (path, options) in ignored {
            for option in options.map({ $0.split(separator: " ").map(String.init) }) {
                // Also between the names, where the option could be one of the command above.
                for words in [path + option + ["1"], [path[0]] + option + [path[1], "1"]] {
                    let line = words.joined(separator: " ")
                    do {
                        _ = try reader.read(words)
                        Issue.record("\(line) is taken")
                    } catch {
                        let name = option[0] == "-q" ? "--quiet" : option[0]
                        let title = "sluice \(path[0]) \(path[1])"
                        #expect(error.message == "\(name) cannot be used with \"\(title)\"", "\(line)")
                    }
                }
            }
        }
    }

    @Test func wordsThatAreOfferedAreReadable() {
        for option in Self.paths.flatMap(\.last!.options) {
            switch option.completion {
            case .words(let words), .suggestions(let words), .wordsAndLookedUp(let words, _):
                for candidate in words {
                    #expect(throws: Never.self, "\(option.word) \(candidate.word)") { try option.read(candidate.word) }
                }
            case .nothing, .files, .namedFolders, .commands, .lookedUp: break
            }
        }
    }

    @Test func examplesParse() throws {
        for path in Self.paths where !path.last!.isHidden {
            #expect(!path.last!.examples.isEmpty, "\(path.last!.name) has no example")
            for example in path.last!.examples {
                for words in Self.commands(in: example.line) {
                    guard case .run(let command, _) = try WordReader(root: Catalogue.root, environment: [:]).read(words)
                    else {
                        Issue.record("\(example.line) only shows help")
                        continue
                    }
                    let names = [path.last!.name] + path.last!.children.map(\.name)
                    #expect(path.count == 1 || names.contains(command.name), "\(example.line)")
                }
            }
        }
    }

    /// The arguments of each `sluice` in a shell line, which may have words in single quotes.
    private static func commands(in line: String) -> [[String]] {
        line.split(whereSeparator: { "|()<".contains($0) }).map(words)
            .filter { $0.first == "sluice" }.map { Array($0.dropFirst()) }
    }

    private static func words(of command: Substring) -> [String] {
        command.split(separator: "'", omittingEmptySubsequences: false).enumerated().flatMap { place, part in
            place % 2 == 1 ? [String(part)] : part.split(separator: " ").map(String.init)
        }
    }

    @Test func exampleIsFoundInPipesAndSubstitutions() {
        #expect(Self.commands(in: "source <(sluice completion bash)") == [["completion", "bash"]])
        #expect(Self.commands(in: "sluice help --man convert | man -l -") == [["help", "--man", "convert"]])
    }

    @Test func noTwoOptionsOfACommandShareANameOrALetter() {
        for path in Self.paths {
            let options = path.allOptions
            #expect(Set(options.map(\.name)).count == options.count, "\(path.last!.name)")
            let letters = options.compactMap(\.letter)
            #expect(Set(letters).count == letters.count, "\(path.last!.name)")
            #expect(!options.contains { ["help", "version"].contains($0.name) || $0.letter == "h" })
        }
    }

    @Test func variablesHaveOnePrefix() {
        for variable in Self.paths.flatMap(\.last!.options).compactMap(\.environment) {
            #expect(variable.hasPrefix("SLUICE_"))
        }
    }

    @Test func onlyOneArgumentTakesMany() {
        for path in Self.paths {
            #expect(path.last!.arguments.filter(\.takesMany).count <= 1)
            #expect(path.last!.children.isEmpty || path.last!.arguments.isEmpty)
        }
    }

    @Test func summariesAreLinesWithoutAFullStop() {
        for path in Self.paths {
            for summary in [path.last!.summary] + path.last!.options.map(\.summary) {
                #expect(!summary.hasSuffix(".") || summary.hasSuffix("..."), "\(summary)")
                #expect(!summary.contains("\n") && summary.displayWidth <= 80, "\(summary)")
            }
        }
    }
}
