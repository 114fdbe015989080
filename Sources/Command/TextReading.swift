import API
import Console
package import Conversion
package import Storage

/// Parses text from outside without acting on it.
///
/// Fuzzers and their tests call the parsers through this type, in the build that users run.
package enum TextReading {
    /// The meaning of a command line.
    package enum Words: Sendable, Equatable {
        case help, version
        case refused(message: String, hint: String?)
        /// With the recipe that `convert` or `submit` makes from its options.
        case understood(path: [String], Recipe?)
    }

    /// Every fixed word: commands and options.
    package static let vocabulary: [String] = {
        var words: Set<String> = ["--", "-", "--help", "--version"]
        var left = [Catalogue.root]
        while let command = left.popLast() {
            words.insert(command.name)
            words.formUnion(command.options.map(\.word))
            words.formUnion(command.options.compactMap { $0.letter.map { "-\($0)" } })
            left += command.children
        }
        return words.sorted()
    }()

    /// Parses `words`, which do not include the program's name.
    package static func words(_ words: [String]) -> Words {
        do {
            switch try WordReader(root: Catalogue.root, environment: [:]).read(words) {
            case .help: return .help
            case .version: return .version
            case .run(_, var invocation):
                invocation.attachment = ContextMemory(environment: [:], presets: PresetMemory(looksUp: false))
                return .understood(path: invocation.path, try recipe(invocation))
            }
        } catch let error as UsageError {
            return .refused(message: error.message.printable, hint: error.hint?.printable)
        } catch {
            return .refused(message: "\(error)".printable, hint: nil)
        }
    }

    private static func recipe(_ invocation: Invocation) throws -> Recipe? {
        switch invocation.path {
        case ["convert"]:
            // A recipe in a file is read elsewhere: `Recipe` has its own fuzzer.
            guard invocation[RecipeTemplate.option] == nil, let input = invocation.words(ConvertCommand.input).first,
                let output = invocation.words(ConvertCommand.output).first
            else { return nil }
            return try ConvertCommand.recipe(from: input, to: output, invocation)
        case ["submit"]:
            guard invocation[RecipeTemplate.option] == nil, invocation[SubmitOptions.to] != nil else { return nil }
            let roots = PathRoots([], home: "/home/ada", here: "/srv")
            let outputs = try SubmitOptions.outputs(from: nil, roots, invocation)
            return try SubmitOptions.recipe(to: outputs, from: nil, invocation)
        default: return nil
        }
    }

    /// What a shell would offer for the last of `words`. Each candidate begins with the typed text after `prefix`.
    package static func offers(_ words: [String]) -> (prefix: String, words: [String]) {
        let offer = Completer(root: Catalogue.root).offer(for: words)
        return (offer.prefix, offer.candidates.map(\.word))
    }

    /// The paths of a list for `--files-from`; `path` is `nil` if it is not UTF-8.
    package static func list(_ bytes: [UInt8], byNull: Bool) -> [(path: String?, shown: String)] {
        var paths: [(path: String?, shown: String)] = []
        PathList.forEach(in: bytes, byNull: byNull) { path, shown in paths.append((path, shown())) }
        return paths
    }

    /// The location of a path. `/srv/in` is the root `in`, `/` is the root `local`, and relative paths begin at
    /// `/srv`.
    package static func location(ofPath path: String) throws(StorageError) -> Location? {
        guard let (root, below) = roots.place(of: roots.absolute(path)) else { return nil }
        return try Location("\(root.name):\(below)")
    }

    /// The template of a `--to` value with these roots; `nil` if it is invalid.
    package static func template(_ text: String) -> DestinationTemplate? {
        // The error only holds a message for people.
        try? roots.template(text)
    }

    private static let roots = PathRoots(
        [PathRoots.Root(name: "in", path: "/srv/in"), PathRoots.Root(name: "local", path: "")],
        home: "/home/ada",
        here: "/srv"
    )

    /// Whether `--include` with that glob takes a file.
    package static func takes(_ path: String, glob: String) -> Bool {
        NameFilter(includes: [glob], excludes: []).answer(name: path.lastPathName ?? "", path: path) == .taken
    }

    /// The filter of `sluice watch`, parsed and written again; `nil` if it is invalid.
    package static func filter(_ words: String) -> String? {
        // The error only holds a message for people.
        (try? WatchFilter(words: words))?.words
    }

    /// The number of keys in a terminal's bytes.
    package static func keys(_ bytes: [UInt8]) -> Int {
        var reader = KeyReader()
        return reader.take(bytes).count + reader.flush().count
    }

    /// JSON from the ledger, as a command prints it.
    package static func json(_ text: String) throws -> String { try JSONText.line(JSONValue(text: text)) }
}
