/// Computes what may complete the last of some words. All shells share it, so that no script has to list commands.
package struct Completer {
    let root: Subcommand

    package init(root: Subcommand) { self.root = root }

    package struct Offer {
        package internal(set) var candidates: [Completion.Candidate] = []
        /// Whether the shell should also offer files or folders.
        var files = FileOffer.none
        /// Who supplies more candidates, which depend on more than the commands.
        var asked: Asked?
        /// The part of the word that precedes the candidates, such as `--preset=`.
        package internal(set) var prefix = ""
    }

    struct Asked {
        let source: any CandidateSource
        let typed: String
    }

    enum FileOffer: String {
        case none, files
        case namedFolders = "named-folders"
    }

    /// Completions for `words`, without the program's name; the last one is being typed and may be empty.
    package func offer(for words: [String]) -> Offer {
        let current = words.last ?? ""
        var path = [root]
        var placed = 0
        var rest = words.dropLast()[...]
        var onlyArguments = false
        while let word = rest.popFirst() {
            let options = path.allOptions
            if !onlyArguments, word == "--" {
                onlyArguments = true
            } else if !onlyArguments, word.hasPrefix("-"), word != "-" {
                guard let option = option(word, options), !option.isSwitch, !word.contains("=") else { continue }
                if rest.isEmpty { return values(of: option.completion, typed: current) }
                rest = rest.dropFirst()
            } else if let child = path[path.count - 1].children.first(where: { $0.name == word }) {
                path.append(child)
            } else {
                placed += 1
            }
        }
        let options = path.allOptions
        if !onlyArguments, current.hasPrefix("-") {
            return optionOffer(options, typed: current)
        }
        return argumentOffer(path, placed: placed, typed: current)
    }

    private func option(_ word: String, _ options: [OptionForm]) -> OptionForm? {
        let name = word.split(separator: "=", maxSplits: 1).first.map(String.init) ?? word
        return options.first { $0.word == name || $0.letter.map { "-\($0)" } == word }
    }

    private func optionOffer(_ options: [OptionForm], typed: String) -> Offer {
        if let sign = typed.firstIndex(of: "="), let option = option(typed, options) {
            var offer = values(of: option.completion, typed: String(typed[typed.index(after: sign)...]))
            offer.prefix = String(typed[...sign])
            return offer
        }
        let all =
            options.map { Completion.Candidate(word: $0.word, summary: $0.summary) }
            + [Completion.Candidate(word: "--help", summary: "show help")]
        return Offer(candidates: all.filter { $0.word.hasPrefix(typed) })
    }

    private func argumentOffer(_ path: [Subcommand], placed: Int, typed: String) -> Offer {
        let command = path[path.count - 1]
        if !command.children.isEmpty { return values(of: .commands, typed: typed, among: command) }
        let arguments = command.arguments
        guard !arguments.isEmpty else { return Offer() }
        let argument = placed < arguments.count ? arguments[placed] : arguments[arguments.count - 1]
        guard placed < arguments.count || argument.takesMany else { return Offer() }
        return values(of: argument.completion, typed: typed)
    }

    private func values(of completion: Completion, typed: String, among command: Subcommand? = nil) -> Offer {
        switch completion {
        case .nothing: return Offer()
        case .files: return Offer(files: .files)
        case .namedFolders: return Offer(files: .namedFolders)
        case .words(let words), .suggestions(let words):
            return Offer(candidates: words.filter { $0.word.hasPrefix(typed) })
        case .lookedUp(let source): return Offer(asked: Asked(source: source, typed: typed))
        case .wordsAndLookedUp(let words, let source):
            return Offer(
                candidates: words.filter { $0.word.hasPrefix(typed) },
                asked: Asked(source: source, typed: typed)
            )
        case .commands:
            let children = (command ?? root).children.filter { !$0.isHidden && $0.name.hasPrefix(typed) }
            return Offer(candidates: children.map { Completion.Candidate(word: $0.name, summary: $0.summary) })
        }
    }
}
