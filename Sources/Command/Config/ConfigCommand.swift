import Console
import Conversion

/// `sluice config`: shows the settings in effect and their origins, and manages the contexts.
enum ConfigCommand {
    static let name = "config"
    static let origin = Switch("origin", "show where each setting comes from", in: .output)
    static let json = Switch("json", "print one JSON line per item", in: .output)

    /// `root` supplies the options of all commands.
    static func value(_ root: @escaping @Sendable () -> Subcommand) -> Subcommand {
        Subcommand(
            name: name,
            summary: "show the settings in effect; manage contexts",
            discussion: [
                "Options override environment variables, which override the file of --config (for worker, "
                    + "coordinator and doctor), which overrides the current context, which overrides defaults. The other "
                    + "commands take from that file the ledger and the roots, if there is no current context. "
                    + "Passwords in addresses are not shown. The command does not contact the ledger and starts no "
                    + "cluster.",
                "A context is a name for a ledger: its address, its schema, default roots for commands, and a "
                    + "colour. Contexts are stored in sluice/config.json below XDG_CONFIG_HOME (default: ~/.config). "
                    + "Only the owner can read the file.",
            ],
            options: LedgerOptions.forms + [origin.form, json.form],
            examples: [
                Example(line: "sluice config --origin", purpose: "the settings and their origins")
            ],
            children: [
                Subcommand(
                    name: "show",
                    summary: "show all settings in effect",
                    options: [ServiceFile.option.form],
                    examples: [
                        Example(line: "sluice config show", purpose: "the settings"),
                        Example(
                            line: "sluice config show --origin --json",
                            purpose: "the same, for programs"
                        ),
                    ],
                    run: { try show(root(), $0, $1) }
                ),
                ContextCommands.use, ContextCommands.list, ContextCommands.set, ContextCommands.remove,
            ],
            standsAlone: true,
            run: { try show(root(), $0, $1) }
        )
    }

    static func isJSON(_ invocation: Invocation) -> Bool { invocation[json] }

    private static func show(_ root: Subcommand, _ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode
    {
        let settings = try EffectiveSetting.all(root, invocation)
        let showsOrigin = invocation[origin]
        if invocation[json] {
            for setting in settings { try console.print(JSONText.line(Record(setting, showsOrigin: showsOrigin))) }
            return .success
        }
        var table = TextTable(
            [.init(title: "SETTING"), .init(title: "VALUE", isElastic: true)]
                + (showsOrigin ? [.init(title: "ORIGIN", isElastic: true)] : [])
                + [.init(title: "COMMANDS", isElastic: true, mayGo: true)]
        )
        for setting in settings {
            table.add(
                [.init(setting.name), .init(setting.value ?? "-", setting.isChosen ? .strong : nil)]
                    + (showsOrigin ? [.init(setting.value == nil ? "-" : setting.origin.words)] : [])
                    + [.init(setting.commands.isEmpty ? "all" : setting.commands.joined(separator: ", "))]
            )
        }
        try console.print(table.lines(for: console.data).joined(separator: "\n"))
        return .success
    }

    /// The JSON form of a setting.
    private struct Record: Encodable {
        let setting: String
        let value: String?
        let commands: [String]
        let origin: String?
        let option: String?
        let context: String?
        let file: String?
        let line: Int?
        let variables: [String]?

        init(_ effective: EffectiveSetting, showsOrigin: Bool) {
            (setting, value, commands) = (effective.name, effective.value, effective.commands)
            guard showsOrigin, value != nil else {
                (origin, option, context, file, line, variables) = (nil, nil, nil, nil, nil, nil)
                return
            }
            origin = effective.origin.name
            if case .option(let word, _) = effective.origin { option = word } else { option = nil }
            if case .context(let name, _) = effective.origin { context = name } else { context = nil }
            switch effective.origin {
            case .file(let path): (file, line) = (path, nil)
            case .setting(let path, let number): (file, line) = (path, number)
            default: (file, line) = (nil, nil)
            }
            variables = effective.origin.variables.isEmpty ? nil : effective.origin.variables
        }
    }
}
