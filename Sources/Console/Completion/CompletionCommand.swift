/// `sluice completion`, and the hidden command that its scripts call each time the user presses Tab.
package enum CompletionCommand {
    private static let shell = Argument(
        name: "SHELL",
        summary: "bash, zsh or fish",
        completion: .words(Shell.allCases.map { Completion.Candidate(word: $0.rawValue) })
    )

    package static let value: Subcommand = Subcommand(
        name: "completion",
        summary: "print a shell completion script",
        discussion: [
            "The script asks the installed sluice for completions, so it needs no update when sluice changes."
        ],
        arguments: [shell],
        examples: [
            Example(line: "source <(sluice completion bash)", purpose: "in ~/.bashrc"),
            Example(line: "source <(sluice completion zsh)", purpose: "in ~/.zshrc, after compinit"),
            Example(line: "sluice completion fish | source", purpose: "in ~/.config/fish/config.fish"),
        ],
        run: { invocation, console in
            let word = invocation.word(shell)
            guard let shell = Shell(rawValue: word) else {
                let known = Shell.allCases.map(\.rawValue).joined(separator: ", ")
                throw UsageError("unknown shell \"\(word)\"", hint: "supported: \(known)")
            }
            try console.print(shell.script)
            return .success
        }
    )

    private static let words = Argument(
        name: "WORD",
        summary: "the words of the command line so far",
        count: .any,
        completion: .nothing
    )

    /// Prints what to offer as well (see `Completer.FileOffer`), then one candidate per line: the word, a tab, its summary.
    package static func answering(root: @escaping @Sendable () -> Subcommand) -> Subcommand {
        Subcommand(
            name: "complete-words",
            summary: "complete a command line, for completion scripts",
            arguments: [words],
            isHidden: true,
            run: { invocation, console in
                let typed = invocation.words(words)
                var offer = Completer(root: root()).offer(for: typed)
                if let asked = offer.asked {
                    offer.candidates += asked.source.candidates(
                        typed: asked.typed,
                        words: typed,
                        environment: invocation.environment
                    )
                }
                let lines = offer.candidates.map { "\(offer.prefix)\($0.word)\t\($0.summary)" }
                try console.print(([offer.files.rawValue] + lines).joined(separator: "\n"))
                return .success
            }
        )
    }
}
