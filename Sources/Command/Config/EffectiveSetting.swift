import Ledger

/// A setting as it holds, and who said so.
struct EffectiveSetting: Sendable, Hashable {
    /// As its option is called: `on-conflict`.
    let name: String
    /// `nil` where nothing is said and there is no default.
    var value: String?
    var origin = Origin.fallback
    /// The commands that have it; none where all do.
    var commands: [String] = []

    enum Origin: Sendable, Hashable {
        /// An option on the command line, and variables that say what it leaves open.
        case option(String, [String])
        case variables([String])
        case cluster([String])
        case fallback

        /// For programs.
        var name: String {
            switch self {
            case .option: "option"
            case .variables: "environment"
            case .cluster: "cluster"
            case .fallback: "default"
            }
        }

        var variables: [String] {
            switch self {
            case .option(_, let names), .variables(let names), .cluster(let names): names
            case .fallback: []
            }
        }

        var words: String {
            switch self {
            case .option(let word, let names): (["option \(word)"] + names).joined(separator: ", ")
            case .variables(let names): names.joined(separator: ", ")
            case .cluster(let names): (["private cluster"] + names).joined(separator: ", ")
            case .fallback: "default"
            }
        }
    }

    /// Whether somebody has chosen it.
    var isChosen: Bool { value != nil && origin != .fallback }

    /// Every setting of the commands below `root`, as `invocation` and its environment leave it.
    static func all(_ root: Subcommand, _ invocation: Invocation) throws -> [EffectiveSetting] {
        let ledger = try database(invocation)
        let others = try options(root, invocation.environment)
        return ledger + [schema(invocation), colour(invocation)] + others
    }

    // MARK: - The ledger

    private static func database(_ invocation: Invocation) throws -> [EffectiveSetting] {
        let environment = invocation.environment
        let name = LedgerOptions.database.form.name
        switch LedgerOptions.place(invocation) {
        case .url(let url, let said):
            let server = try LedgerConfiguration(url: url, environment: environment).server
            let others = try LedgerConfiguration.variables(fillingIn: url, from: environment)
            let origin: Origin =
                if case .environment(let variable) = said {
                    .variables([variable] + others)
                } else {
                    .option(LedgerOptions.database.form.word, others)
                }
            return [EffectiveSetting(name: name, value: server, origin: origin)]
        case .variables:
            let names = try LedgerConfiguration.variables(fillingIn: nil, from: environment)
            let server = try LedgerConfiguration(environment: environment).server
            return [EffectiveSetting(name: name, value: server, origin: .variables(names))]
        case .cluster:
            let place = try ClusterPlace(environment: environment)
            let names = ["XDG_DATA_HOME", "XDG_RUNTIME_DIR"].filter { environment[$0]?.hasPrefix("/") == true }
            let server = try LocalPostgres.configuration(place).server
            return [
                EffectiveSetting(name: name, value: server, origin: .cluster(names)),
                EffectiveSetting(name: "cluster-folder", value: place.folder, origin: folder(environment)),
            ]
        }
    }

    /// Who says where the private cluster lies.
    private static func folder(_ environment: [String: String]) -> Origin {
        environment["XDG_DATA_HOME"]?.hasPrefix("/") == true ? .variables(["XDG_DATA_HOME"]) : .fallback
    }

    private static func schema(_ invocation: Invocation) -> EffectiveSetting {
        let form = LedgerOptions.schema.form
        let value = invocation[LedgerOptions.schema] ?? SchemaName.standard
        return EffectiveSetting(name: form.name, value: value.text, origin: origin(of: form, invocation))
    }

    private static func origin(of form: OptionForm, _ invocation: Invocation) -> Origin {
        switch invocation.origin(of: form) {
        case .commandLine?: .option(form.word, [])
        case .environment(let variable)?: .variables([variable])
        case .fallback?, nil: .fallback
        }
    }

    // MARK: - Colour

    /// What is said of it, by whoever goes first.
    private static func colour(_ invocation: Invocation) -> EffectiveSetting {
        let (form, environment) = (Catalogue.colour.form, invocation.environment)
        func isSet(_ name: String) -> Bool { environment[name].map { !$0.isEmpty } ?? false }
        let choice = invocation[Catalogue.colour]
        let (value, origin): (Outlet.ColourChoice, Origin) =
            if choice != .auto {
                (choice, origin(of: form, invocation))
            } else if isSet("NO_COLOR") {
                (.never, .variables(["NO_COLOR"]))
            } else if isSet("FORCE_COLOR") {
                (.always, .variables(["FORCE_COLOR"]))
            } else if environment["TERM"] == "dumb" {
                (.never, .variables(["TERM"]))
            } else {
                (choice, origin(of: form, invocation))
            }
        return EffectiveSetting(name: form.name, value: value.rawValue, origin: origin)
    }

    // MARK: - Options of commands

    /// Every option with a variable or a default, in the order of its name; commands in which it is the same share a line.
    private static func options(_ root: Subcommand, _ environment: [String: String]) throws -> [EffectiveSetting] {
        let known = [LedgerOptions.database.form.name, LedgerOptions.schema.form.name, Catalogue.colour.form.name]
        var settings: [EffectiveSetting] = []
        for path in commands(below: root) {
            guard let command = path.last else { continue }
            for option in command.options where !known.contains(option.name) {
                guard option.environment != nil || option.fallback != nil else { continue }
                var setting = EffectiveSetting(name: option.name)
                if let unsaid = try option.unsaid(environment) {
                    if case .environment(let variable) = unsaid.origin {
                        (setting.value, setting.origin) = (environment[variable], .variables([variable]))
                    } else {
                        setting.value = option.fallback
                    }
                }
                let title = path.dropFirst().map(\.name).joined(separator: " ")
                if let same = settings.firstIndex(where: {
                    ($0.name, $0.value, $0.origin) == (setting.name, setting.value, setting.origin)
                }) {
                    settings[same].commands.append(title)
                } else {
                    setting.commands = [title]
                    settings.append(setting)
                }
            }
        }
        return settings.enumerated().sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }
            .map(\.element)
    }

    private static func commands(below root: Subcommand, _ above: [Subcommand] = []) -> [[Subcommand]] {
        let path = above + [root]
        return [path] + root.children.filter { !$0.isHidden }.flatMap { commands(below: $0, path) }
    }
}
