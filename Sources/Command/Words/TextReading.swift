package import Conversion
package import Storage

/// What the command makes of texts that come from outside, without doing anything about them.
///
/// Fuzzing and its tests reach the readers by this, in the build that people run.
package enum TextReading {
    /// What words of a command line ask for.
    package enum Words: Sendable, Equatable {
        case help, version
        case refused(message: String, hint: String?)
        /// With the recipe that `convert` and `submit` make of their options.
        case understood(path: [String], Recipe?)
    }

    /// Every word that stands for itself: commands and options.
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

    /// Reads `words`, which come without the program's name.
    package static func words(_ words: [String]) -> Words {
        do {
            switch try WordReader(root: Catalogue.root, environment: [:]).read(words) {
            case .help: return .help
            case .version: return .version
            case .run(_, let invocation): return .understood(path: invocation.path, try recipe(invocation))
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
            return try ConvertCommand.recipe(
                from: invocation.word(ConvertCommand.input),
                to: invocation.word(ConvertCommand.output),
                invocation
            )
        case ["submit"]:
            guard let text = invocation[SubmitOptions.to] else { return nil }
            let template = try PathRoots([], home: "/home/ada", here: "/srv").template(text)
            let ext = try SubmitOptions.fileExtension(for: template, invocation)
            return try SubmitOptions.recipe(to: template, ext: ext, invocation)
        default: return nil
        }
    }

    /// What a shell is offered for the last of `words`: each begins with what was typed, behind `prefix`.
    package static func offers(_ words: [String]) -> (prefix: String, words: [String]) {
        let offer = Completer(root: Catalogue.root).offer(for: words)
        return (offer.prefix, offer.candidates.map(\.word))
    }

    /// The paths of a list, as `--files-from` reads it; `nil` for one that is not UTF-8.
    package static func list(_ bytes: [UInt8], byNull: Bool) -> [(path: String?, shown: String)] {
        PathList.paths(in: bytes, byNull: byNull)
    }

    /// Where a path of this machine is below `/srv/in`, which is the root `in`, or below `/`, which is `local`; relative ones begin
    /// at `/srv`.
    package static func location(ofPath path: String) throws(StorageError) -> Location? {
        guard let (root, below) = roots.place(of: roots.absolute(path)) else { return nil }
        return try Location("\(root.name):\(below)")
    }

    /// What `--to` is below these roots; `nil` where it is refused.
    package static func template(_ text: String) -> DestinationTemplate? {
        // A refusal is a sentence for people.
        try? roots.template(text)
    }

    private static let roots = PathRoots(
        [PathRoots.Root(name: "in", path: "/srv/in"), PathRoots.Root(name: "local", path: "")],
        home: "/home/ada",
        here: "/srv"
    )

    /// Whether `--include` with that glob takes a file.
    package static func takes(_ path: String, glob: String) -> Bool {
        NameFilter(includes: [glob], excludes: []).answer(name: path.pathNames.last ?? "", path: path) == .taken
    }

    /// The words of the filter of `sluice watch`, as they are shown again; `nil` where they are refused.
    package static func filter(_ words: String) -> String? {
        // A refusal is a sentence for people.
        (try? WatchFilter(words: words))?.words
    }

    /// How many keys a terminal's bytes are.
    package static func keys(_ bytes: [UInt8]) -> Int {
        var reader = KeyReader()
        return reader.take(bytes).count + reader.flush().count
    }

    /// JSON of the ledger as it is printed.
    package static func json(_ text: String) throws -> String { try JSONText.line(JSONValue(text: text)) }
}
