import Console
import Conversion
import FoundationEssentials
import Ledger
import LedgerClient

/// `sluice presets`: lists presets, which of them suit a file, and those that users make.
enum PresetsCommand {
    static let file = Option<String>(
        "for",
        .file,
        "show the result of each built-in preset for this file, or why it does not fit",
        in: .source
    )
    static let json = Switch("json", "print one JSON line per preset", in: .output)
    private static let tenant = Option<String>(
        "tenant",
        .tenantName,
        "the presets of this tenant",
        in: .ledger
    )
    private static let from = Option<PresetReference>(
        "from",
        .preset,
        "begin with this preset; the other options change it",
        in: .format
    )
    private static let name = Argument(name: "NAME", summary: "the preset's name", completion: .ledger(.presets))
    private static let shown = Argument(
        name: "NAME",
        summary: "a preset, or a version of one, as in podcast-house@2",
        completion: .presets
    )
    private static let first = Argument(name: "A", summary: "a preset, or a version of one", completion: .presets)
    private static let second = Argument(name: "B", summary: "what to compare it with", completion: .presets)

    static let value: Subcommand = Subcommand(
        name: "presets",
        summary: "list presets; make your own",
        discussion: [
            "A preset is built in, or a file NAME.json in ~/.config/sluice/presets.d or in /etc/sluice/presets.d, or in the "
                + "ledger. The user's file comes before the machine's, and both before the ledger. No other preset may have "
                + "the name of a built-in one.",
            "Jobs copy what a preset says when they are submitted, and never change with it.",
        ],
        options: [file.form, tenant.form] + LedgerOptions.forms + [json.form],
        examples: [
            Example(line: "sluice presets", purpose: "all presets, and where each is from"),
            Example(line: "sluice presets --for talk.wav", purpose: "the result of each preset for a file"),
        ],
        children: [listCommand, showCommand, addCommand, removeCommand, diffCommand],
        standsAlone: true,
        run: run
    )

    private static let addForms: [OptionForm] = {
        var forms: [OptionForm] = [from.form, RecipeTemplate.option.form]
        let preset = FormatOptions.preset.form.name
        forms += FormatOptions.forms.filter { $0.name != preset }
        forms += LoudnessOptions.forms
        forms += [SourceOptions.onDamage.form, SourceOptions.concealLimit.form]
        forms += [ConvertCommand.verify.form, ConvertCommand.strictLoss.form]
        forms += [ConvertCommand.noTags.form, TagFileOption.option.form, ConvertCommand.tag.form]
        return forms
    }()

    private static let listCommand: Subcommand = Subcommand(
        name: "list",
        summary: "list presets, as \"sluice presets\" does",
        leavesOut: [file.form],
        examples: [Example(line: "sluice presets list", purpose: "all presets")],
        run: list
    )

    private static let showCommand: Subcommand = Subcommand(
        name: "show",
        summary: "show what a preset says; with --json, its recipe",
        discussion: [
            "The recipe is what a file in presets.d holds, and what \"sluice convert --recipe\" takes."
        ],
        arguments: [shown],
        leavesOut: [file.form],
        examples: [
            Example(line: "sluice presets show podcast-mp3 --json", purpose: "as a recipe"),
            Example(line: "sluice presets show podcast-house@2", purpose: "an earlier version"),
        ],
        run: show
    )

    private static let addCommand: Subcommand = Subcommand(
        name: "add",
        summary: "put a preset into the ledger, or give it a new version",
        discussion: [
            "The preset is for all. With --tenant it is for one tenant, which then uses it instead of the preset for all of "
                + "the same name. --recipe takes everything from a recipe, whose only source must be {source}."
        ],
        arguments: [name],
        options: addForms,
        leavesOut: [file.form],
        examples: [
            Example(
                line: "sluice presets add podcast-house --from podcast-mp3 --bit-rate 96k",
                purpose: "made of another one"
            ),
            Example(
                line: "sluice presets add radio-flac --container flac --bits 16 --tenant radio",
                purpose: "for one tenant"
            ),
        ],
        run: add
    )

    private static let removeCommand: Subcommand = Subcommand(
        name: "remove",
        summary: "remove a preset from the ledger",
        discussion: ["Jobs that were submitted with it stay as they are."],
        arguments: [name],
        leavesOut: [file.form, json.form],
        examples: [Example(line: "sluice presets remove podcast-house", purpose: "with all its versions")],
        run: remove
    )

    private static let diffCommand: Subcommand = Subcommand(
        name: "diff",
        summary: "compare two presets, or two versions of one",
        arguments: [first, second],
        leavesOut: [file.form],
        examples: [
            Example(line: "sluice presets diff podcast-house@1 podcast-house", purpose: "what has changed"),
            Example(line: "sluice presets diff podcast-mp3 mp3-128", purpose: "two presets"),
        ],
        run: diff
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        try PresetFits.show(invocation, console) ?? list(invocation, console)
    }

    // MARK: - Listing

    @Sendable private static func list(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        var presets: [NamedPreset] = try Preset.all.map { try NamedPreset($0) }
        var code = ExitCode.success
        for name in PresetFiles.names(invocation.environment) {
            do throws(Refusal) {
                if let preset = try PresetFiles.preset(named: name, invocation.environment) { presets.append(preset) }
            } catch {
                // One file must not hide the others.
                console.complain(error.message.printable, hint: error.hint?.printable)
                code = error.exitCode
            }
        }
        do {
            let owner = invocation[tenant]
            if try owner != nil || PresetLedger.mayHave(invocation) {
                presets += try LedgerWork.run(invocation) { try await $0.presets(ofTenant: owner) }
            }
        } catch let error as LedgerError {
            let page = LedgerFailurePage(error: error)
            page.show(on: console)
            code = page.exitCode
        } catch let refusal as Refusal where refusal.exitCode == .permission && invocation[tenant] == nil {
            // The ledger of this machine's services, which is not for this user.
            console.warn(refusal.message.printable)
        }
        if invocation[json] {
            for preset in presets { try console.print(JSONText.line(JSONRecord(preset))) }
        } else {
            try console.print(table(presets).lines(for: console.data).joined(separator: "\n"))
        }
        return code
    }

    private static func table(_ presets: [NamedPreset]) -> TextTable {
        var table = TextTable([
            .init(title: "PRESET"), .init(title: "FROM", mayGo: true), .init(title: "WHAT IT MAKES", isElastic: true),
        ])
        for preset in presets {
            table.add([.init(preset.name), .init(preset.place(isShort: true)), .init(preset.summary)])
        }
        return table
    }

    // MARK: - One preset

    /// The preset that a word names: with `--tenant`, the one that the tenant uses.
    private static func find(
        _ word: String,
        of argument: Argument,
        _ invocation: Invocation
    ) throws -> NamedPreset {
        func refuse(_ misfit: Misfit) -> UsageError {
            UsageError("\(argument.name) \(word.printable): \(misfit.why)", hint: misfit.hint, exitCode: .notFound)
        }
        guard let wanted = PresetReference(word) else {
            throw refuse(Misfit(why: "is not a preset", hint: Misfit.presetsHint))
        }
        if let owner = invocation[tenant] {
            let own = try LedgerWork.run(invocation) { try await $0.preset(wanted, ofTenant: owner) }
            if let own { return own }
        } else if let found = try invocation.presets.find(wanted, invocation) {
            return found
        }
        throw refuse(.noPreset(wanted, PresetFiles.names(invocation.environment)))
    }

    private static func read(_ preset: NamedPreset) throws(Refusal) -> OwnPreset {
        do throws(RecipeError) {
            return try preset.own()
        } catch {
            throw Refusal(
                message: "the preset \(preset.name.printable) cannot be read by this version: \(error)".printable
            )
        }
    }

    @Sendable private static func show(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let found = try find(invocation.word(shown), of: shown, invocation)
        let preset = try read(found)
        if invocation[json] {
            try console.print(JSONText.line(preset.recipe))
            return .success
        }
        let moment = found.createdAt.map { $0.formatted(.iso8601) + "   " } ?? ""
        let lines: [(name: String, value: String?)] = [
            ("preset", preset.reference.description), ("from", found.place(isShort: false)),
            ("made", found.createdBy.map { "\(moment)by \($0.printable)" }), ("makes", found.summary.printable),
        ]
        var table = TextTable([.init(title: "FIELD"), .init(title: "VALUE", isElastic: true)])
        for (field, value) in try preset.fields().sorted(by: { $0.key < $1.key }) {
            table.add([.init(field), .init(value)])
        }
        let head: [String] = lines.compactMap { line in line.value.map { line.name.padded(to: 9) + $0 } }
        try console.print((head + [""] + table.lines(for: console.data)).joined(separator: "\n"))
        return .success
    }

    @Sendable private static func diff(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let (one, other) = (invocation.word(first), invocation.word(second))
        let mine = try read(try find(one, of: first, invocation))
        let differences = try mine.differences(to: try read(try find(other, of: second, invocation)))
        if invocation[json] {
            for difference in differences { try console.print(JSONText.line(DifferenceLine(difference))) }
        } else if differences.isEmpty {
            console.say("no differences")
        } else {
            var table = TextTable([
                .init(title: "FIELD"), .init(title: one.uppercased(), isElastic: true),
                .init(title: other.uppercased()),
            ])
            for difference in differences {
                table.add([.init(difference.field), .init(difference.first ?? "-"), .init(difference.second ?? "-")])
            }
            try console.print(table.lines(for: console.data).joined(separator: "\n"))
        }
        return .success
    }

    private struct DifferenceLine: Encodable {
        let field: String
        let first: JSONValue?
        let second: JSONValue?

        init(_ difference: OwnPreset.Difference) {
            field = difference.field
            (first, second) = (
                difference.first.map(JSONValue.init(text:)), difference.second.map(JSONValue.init(text:))
            )
        }
    }

    // MARK: - Changing

    @Sendable private static func add(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let word = invocation.word(name)
        if let mistake = OwnPreset.mistake(inName: word) { throw UsageError("\(name.name): \(mistake)") }
        var recipe = try recipe(invocation)
        try ConvertCommand.addWishes(to: &recipe, of: nil, invocation)
        let preset: OwnPreset
        do throws(RecipeError) {
            preset = try OwnPreset(PresetReference(name: word), recipe)
        } catch {
            throw UsageError(error, in: recipe)
        }
        let owner = invocation[tenant]
        let put = try LedgerWork.run(invocation) { ledger -> NamedPreset? in
            let version = try await ledger.put(preset, ofTenant: owner)
            return try await ledger.preset(PresetReference(name: word, version: Int(version)), ofTenant: owner)
        }
        guard let stored = put else { throw Refusal(message: "the preset \"\(word)\" was removed meanwhile") }
        if invocation[json] {
            try console.print(JSONText.line(JSONRecord(stored)))
        } else {
            let reference = PresetReference(name: word, version: stored.version.map { Int($0) })
            try console.print("\(reference)  \(stored.summary.printable)")
        }
        return .success
    }

    /// The recipe in a file, or what the options say.
    private static func recipe(_ invocation: Invocation) throws -> Recipe {
        let base = try base(invocation)
        if let template = try RecipeTemplate(invocation) {
            guard base == nil else { throw UsageError("\(from.form.word) and --recipe exclude each other") }
            return template.recipe
        }
        let output = try FormatOptions.output(at: OwnPreset.output, onConflict: .fail, from: base, invocation)
        var recipe = Recipe(from: Recipe.Source(location: OwnPreset.source), to: output)
        base?.own?.settle(&recipe)
        try SourceOptions.settleDamage(of: &recipe, invocation)
        return recipe
    }

    /// The preset that `--from` names: with `--tenant`, the one that the tenant uses.
    private static func base(_ invocation: Invocation) throws -> PresetChoice? {
        guard let wanted = invocation[from], let owner = invocation[tenant],
            !Preset.all.contains(where: { $0.name == wanted.name }),
            let found = try LedgerWork.run(invocation, { try await $0.preset(wanted, ofTenant: owner) })
        else { return try PresetChoice.of(from, invocation) }
        return try PresetChoice(found)
    }

    @Sendable private static func remove(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let (word, owner) = (invocation.word(name), invocation[tenant])
        guard PresetReference.isName(word),
            try LedgerWork.run(invocation, { try await $0.removePreset(word, ofTenant: owner) })
        else {
            throw Refusal(
                message: "no such preset in the ledger: \"\(word.printable)\"",
                hint: Misfit.presetsHint,
                exitCode: .notFound
            )
        }
        return .success
    }
}

extension NamedPreset {
    /// Where it comes from: `built-in`, the path of its file, `ledger`, `tenant radio`, with the version.
    fileprivate func place(isShort: Bool) -> String {
        let number = version.map { isShort ? " @\($0)" : ", version \($0)" } ?? ""
        switch origin {
        case .builtIn: return "built-in"
        case .file: return (file ?? "a file").printable
        case .ledger: return (isShort ? "ledger" : "the ledger, for all") + number
        case .tenant:
            let whose = "tenant \((tenant ?? "").printable)"
            return (isShort ? whose : "the ledger, for \(whose)") + number
        }
    }
}
