/// `sluice help`: prints the page of any command, generated from its value.
package enum HelpCommand {
    private static let topic = Argument(
        name: "COMMAND",
        summary: "the command to explain",
        count: .any,
        completion: .commands
    )
    private static let manual = Switch("man", "print the manual page as roff", in: .output)

    package static func value(version: String, root: @escaping @Sendable () -> Subcommand) -> Subcommand {
        Subcommand(
            name: "help",
            summary: "show the help of a command",
            discussion: [
                "On a terminal, a page that is longer than the screen goes through the pager: SLUICE_PAGER, PAGER, or "
                    + "less. An empty variable, or cat, turns it off."
            ],
            arguments: [topic],
            options: [manual.form],
            examples: [
                Example(line: "sluice help convert", purpose: "the help of convert"),
                Example(line: "sluice help --man convert | man -l -", purpose: "the same as a manual page"),
            ],
            run: { invocation, console in
                var path = [root()]
                for word in invocation.words(topic) {
                    let command = path[path.count - 1]
                    guard let child = command.children.first(where: { $0.name == word }) else {
                        if !command.children.isEmpty {
                            // Parsing the words as a command throws the same error with the same suggestion.
                            _ = try WordReader(root: root(), environment: [:]).read(invocation.words(topic))
                        }
                        throw UsageError("\(command.name) has no subcommand \"\(word)\"")
                    }
                    path.append(child)
                }
                if invocation[manual] {
                    try console.print(ManualPage(path: path, version: version).roff)
                } else {
                    let page = HelpPage(path: path).lines(width: console.data.width, paint: console.data.paint)
                    try Pager(console: console, environment: invocation.environment).show(page)
                }
                return .success
            }
        )
    }
}
