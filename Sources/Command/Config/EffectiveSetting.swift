import Console
import Ledger
import LedgerClient
import LocalCluster

/// A setting in effect, and where it comes from.
struct EffectiveSetting: Sendable, Hashable {
    /// The name of its option: `on-conflict`.
    let name: String
    /// `nil` if the setting is unset and has no default.
    var value: String?
    var origin = Origin.fallback
    /// The commands that have this setting; empty if all do.
    var commands: [String] = []

    enum Origin: Sendable, Hashable {
        /// An option on the command line, and the variables that supply what the option leaves out.
        case option(String, [String])
        case variables([String])
        case cluster([String])
        /// The context of that name, and the variables that supply what its address leaves out.
        case context(String, [String])
        /// A file of the user's configuration.
        case file(String)
        /// A line of the services' settings file.
        case setting(String, Int)
        case fallback

        /// The word in the output of `--json`.
        var name: String {
            switch self {
            case .option: "option"
            case .variables: "environment"
            case .cluster: "cluster"
            case .context: "context"
            case .file, .setting: "file"
            case .fallback: "default"
            }
        }

        var variables: [String] {
            switch self {
            case .option(_, let names), .variables(let names), .cluster(let names), .context(_, let names): names
            case .file, .setting, .fallback: []
            }
        }

        var words: String {
            switch self {
            case .option(let word, let names): (["option \(word)"] + names).joined(separator: ", ")
            case .variables(let names): names.joined(separator: ", ")
            case .cluster(let names): (["private cluster"] + names).joined(separator: ", ")
            case .context(let name, let names): (["context \(name)"] + names).joined(separator: ", ")
            case .file(let path): path.printable
            case .setting(let path, let line): "\(path.printable):\(line)"
            case .fallback: "default"
            }
        }
    }

    /// Whether the user set it; false for a default.
    var isChosen: Bool { value != nil && origin != .fallback }

    /// Every setting of the commands below `root`, resolved from `invocation` and its environment.
    static func all(_ root: Subcommand, _ invocation: Invocation) throws -> [EffectiveSetting] {
        let place = try LedgerOptions.readablePlace(invocation)
        let ledger =
            try place.map { try [context($0)] + database($0, invocation) + schema($0, invocation) }
            ?? [EffectiveSetting(name: LedgerOptions.database.form.name)]
        let file = try ServiceFile.read(invocation)
        let others =
            try options(root, invocation.environment, file) + (place.map { roots($0, root) } ?? []) + [
                config(invocation)
            ]
            + services(file, invocation, besides: ledger)
        // Sorted by name; settings with the same name keep their order.
        return ledger + [colour(invocation)]
            + others.enumerated().sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }.map(\.element)
    }

    // MARK: - The ledger

    private static func context(_ place: LedgerPlace) -> EffectiveSetting {
        let form = LedgerOptions.context.form
        guard case .context(let context, let origin) = place else { return EffectiveSetting(name: form.name) }
        let who: Origin =
            switch origin {
            case .option: .option(form.word, [])
            case .variable(let name): .variables([name])
            case .file(let path): .file(path)
            }
        return EffectiveSetting(name: form.name, value: context.name, origin: who)
    }

    private static func database(_ place: LedgerPlace, _ invocation: Invocation) throws -> [EffectiveSetting] {
        let environment = invocation.environment
        let name = LedgerOptions.database.form.name
        switch place {
        case .context(let context, _):
            var settings: [EffectiveSetting] = []
            if let coordinator = context.coordinator {
                let origin = Origin.context(context.name, [])
                settings.append(
                    EffectiveSetting(
                        name: LedgerOptions.url.form.name,
                        value: coordinator.url.description,
                        origin: origin
                    )
                )
                let isSaid = invocation.origin(of: LedgerOptions.tokenFile.form) == .commandLine
                let file = isSaid ? nil : coordinator.tokenFile
                settings.append(
                    file.map {
                        EffectiveSetting(name: LedgerOptions.tokenFile.form.name, value: $0, origin: origin)
                    } ?? token(invocation)
                )
            }
            if let server = try context.server(environment) {
                let others = try LedgerConfiguration.variables(fillingIn: context.database, from: environment)
                settings.append(EffectiveSetting(name: name, value: server, origin: .context(context.name, others)))
            }
            return settings
        case .url(let url, let said):
            let server = try LedgerConfiguration(url: url, environment: environment).server
            let others = try LedgerConfiguration.variables(fillingIn: url, from: environment)
            return [EffectiveSetting(name: name, value: server, origin: Origin(said, others))]
        case .coordinator(let url, let said):
            let form = LedgerOptions.url.form
            return [
                EffectiveSetting(name: form.name, value: url.description, origin: Origin(said)), token(invocation),
            ]
        case .variables:
            let names = try LedgerConfiguration.variables(fillingIn: nil, from: environment)
            let server = try LedgerConfiguration(environment: environment).server
            return [EffectiveSetting(name: name, value: server, origin: .variables(names))]
        case .cluster:
            // `try?`: where no private cluster is possible, no database is set. The error says why, and every command
            // that needs a database shows it.
            guard let place = try? ClusterPlace(environment: environment) else { return [EffectiveSetting(name: name)] }
            let names = ["XDG_DATA_HOME", "XDG_RUNTIME_DIR"].filter { environment[$0]?.hasPrefix("/") == true }
            let server = try LocalPostgres.configuration(place).server
            return [
                EffectiveSetting(name: name, value: server, origin: .cluster(names)),
                EffectiveSetting(name: "cluster-folder", value: place.folder, origin: folder(environment)),
            ]
        }
    }

    /// What the token for a coordinator comes from. The token itself is not shown.
    private static func token(_ invocation: Invocation) -> EffectiveSetting {
        let form = LedgerOptions.tokenFile.form
        let isFile = invocation[LedgerOptions.tokenFile] != nil
        if invocation.environment["SLUICE_TOKEN"]?.isEmpty == false, invocation.origin(of: form) != .commandLine {
            return EffectiveSetting(name: "token", value: "***", origin: .variables(["SLUICE_TOKEN"]))
        }
        guard isFile else { return EffectiveSetting(name: form.name) }
        return EffectiveSetting(
            name: form.name,
            value: invocation[LedgerOptions.tokenFile],
            origin: origin(of: form, invocation)
        )
    }

    /// What decides the location of the private cluster.
    private static func folder(_ environment: [String: String]) -> Origin {
        environment["XDG_DATA_HOME"]?.hasPrefix("/") == true ? .variables(["XDG_DATA_HOME"]) : .fallback
    }

    /// Empty for a coordinator, which knows its schema.
    private static func schema(_ place: LedgerPlace, _ invocation: Invocation) throws -> [EffectiveSetting] {
        if case .coordinator = place { return [] }
        if let context = place.contextInUse, context.database == nil { return [] }
        let form = LedgerOptions.schema.form
        let (value, said) = try LedgerOptions.schemaInUse(at: place, invocation)
        let origin: Origin =
            switch said {
            case .option: .option(form.word, [])
            case .variable(let name): .variables([name])
            case .context(let name): .context(name, [])
            case .setting(let path, let line): .setting(path, line)
            case .fallback: .fallback
            }
        return [EffectiveSetting(name: form.name, value: value.text, origin: origin)]
    }

    /// The roots of a context, which apply to commands that take roots and were given none.
    private static func roots(_ place: LedgerPlace, _ root: Subcommand) -> [EffectiveSetting] {
        guard let context = place.contextInUse, !context.roots.isEmpty else { return [] }
        let name = ServiceOptions.root.form.name
        let commands = commands(below: root).filter { path in
            let options = path.allOptions.map(\.name)
            return options.contains(name) && options.contains(LedgerOptions.database.form.name)
                && path.dropFirst().first?.name != ConfigCommand.name
        }
        return [
            EffectiveSetting(
                name: name,
                value: context.roots.joined(separator: ", "),
                origin: .context(context.name, []),
                commands: commands.map { $0.dropFirst().map(\.name).joined(separator: " ") }
            )
        ]
    }

    // MARK: - The services

    /// The settings file of the services.
    private static func config(_ invocation: Invocation) -> EffectiveSetting {
        let form = ServiceFile.option.form
        var setting = EffectiveSetting(name: form.name, commands: ServiceFile.readers)
        guard let place = ServiceFile.place(invocation) else { return setting }
        (setting.value, setting.origin) = (place.path, Origin(place.origin, of: form))
        return setting
    }

    /// The ledger of the services where their settings file names another one than other commands use.
    private static func services(
        _ file: SettingsFile?,
        _ invocation: Invocation,
        besides others: [EffectiveSetting]
    ) throws -> [EffectiveSetting] {
        guard let file else { return [] }
        let form = LedgerOptions.databaseFile.form
        var settings = file.entries(of: form).map { entry in
            EffectiveSetting(name: form.name, value: entry.text, origin: .setting(file.path, entry.line))
        }
        let invocation = ServiceFile.completing(invocation, from: file)
        do {
            let place = try LedgerOptions.place(invocation)
            settings += try database(place, invocation) + schema(place, invocation)
        } catch let refusal as Refusal where [.permission, .notFound].contains(refusal.exitCode) {
            // Only the services may read the file with the address, and it may not exist yet.
        }
        return settings.filter { !others.contains($0) }.map { setting in
            var setting = setting
            setting.commands = ServiceFile.readers
            return setting
        }
    }

    private static func origin(of form: OptionForm, _ invocation: Invocation) -> Origin {
        Origin(invocation.origin(of: form), of: form)
    }

    // MARK: - Colour

    /// The value with the highest precedence.
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

    /// Every option with a variable or a default. Commands that agree on the value and its origin share one
    /// setting.
    private static func options(
        _ root: Subcommand,
        _ environment: [String: String],
        _ file: SettingsFile?
    ) throws -> [EffectiveSetting] {
        let known = (LedgerOptions.forms + [Catalogue.colour.form, ServiceFile.option.form]).map(\.name)
        var settings: [EffectiveSetting] = []
        for path in commands(below: root) {
            guard let command = path.last else { continue }
            for option in command.options where !known.contains(option.name) {
                let lines = path.count == 2 && ServiceFile.readers.contains(command.name) ? file : nil
                let entries = lines?.entries(of: option) ?? []
                guard option.environment != nil || option.fallback != nil || !entries.isEmpty else { continue }
                var setting = EffectiveSetting(name: option.name)
                let unsaid = try option.unsaid(environment)
                if let lines, let last = entries.last, unsaid.map({ $0.origin == .fallback }) ?? true {
                    setting.value = entries.map(\.text).joined(separator: ", ")
                    setting.origin = .setting(lines.path, last.line)
                } else if let unsaid {
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
        return settings
    }

    private static func commands(below root: Subcommand, _ above: [Subcommand] = []) -> [[Subcommand]] {
        let path = above + [root]
        return [path] + root.children.filter { !$0.isHidden }.flatMap { commands(below: $0, path) }
    }
}

extension EffectiveSetting.Origin {
    /// What gave the value of an option; `nil` if it has none.
    fileprivate init(_ said: Invocation.Origin?, of form: OptionForm) {
        self =
            switch said {
            case .commandLine?: .option(form.word, [])
            case .environment(let variable)?: .variables([variable])
            case .file(let path, let line)?: .setting(path, line)
            case .fallback?, nil: .fallback
            }
    }

    /// What gave the address of a ledger, and the variables that supply what the address leaves out.
    fileprivate init(_ said: LedgerPlace.AddressOrigin, _ others: [String] = []) {
        self =
            switch said {
            case .option(let word): .option(word, others)
            case .variable(let variable): .variables([variable] + others)
            case .setting(let path, let line): .setting(path, line)
            case .credential(let path): .file(path)
            }
    }
}
