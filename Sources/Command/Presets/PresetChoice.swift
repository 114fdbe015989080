import Console
import Conversion
import Glibc
import Ledger
import LedgerClient
import LocalCluster
import Synchronization

/// The preset that an option names: a built-in one, or one that users have made.
struct PresetChoice: Sendable, Hashable {
    let name: String
    let format: AudioFormat
    /// `nil` for a built-in one.
    let own: OwnPreset?

    init(_ preset: Preset) { (name, format, own) = (preset.name, preset.format, nil) }

    init(_ own: OwnPreset) { (name, format, self.own) = (own.reference.name, own.format, own) }

    /// The output at `location` as the preset describes it.
    func output(at location: String, onConflict: Recipe.ConflictPolicy) -> Recipe.Output {
        own?.output(at: location, onConflict: onConflict)
            ?? Recipe.Output(location: location, preset: name, onConflict: onConflict)
    }

    /// The preset that `option` names; `nil` without the option.
    static func of(_ option: Option<PresetReference>, _ invocation: Invocation) throws -> PresetChoice? {
        guard let wanted = invocation[option] else { return nil }
        return try find(wanted, invocation) { misfit in
            switch invocation.origin(of: option.form) {
            case .environment(let variable):
                UsageError(
                    "\(variable)=\(wanted) in the environment: \(misfit.why)",
                    hint: misfit.hint,
                    exitCode: .configuration
                )
            default: UsageError("\(option.form.word) \(wanted): \(misfit.why)", hint: misfit.hint)
            }
        }
    }

    /// The preset that a user has named. Throws what `refusal` makes of the reason if there is none.
    static func find(
        _ wanted: PresetReference,
        _ invocation: Invocation,
        refusal: (Misfit) -> UsageError
    ) throws -> PresetChoice {
        guard let found = try invocation.presets.find(wanted, invocation) else {
            throw refusal(.noPreset(wanted, PresetFiles.names(invocation.environment)))
        }
        return try PresetChoice(found)
    }

    /// Throws if this version cannot read the preset.
    init(_ found: NamedPreset) throws {
        if found.origin == .builtIn {
            self.init(try Preset.named(found.name))
            return
        }
        do throws(RecipeError) {
            self.init(try found.own())
        } catch {
            throw Refusal(message: "the preset \(found.name) cannot be used by this version: \(error)".printable)
        }
    }
}

extension Misfit {
    /// `is not a preset; did you mean "mp3-v0"?`
    static func noPreset(_ wanted: PresetReference, _ names: [String]) -> Misfit {
        let known = Preset.all.map(\.name) + names
        let meant = EditDistance.suggestions(for: wanted.name, among: known).map { "\"\($0)\"" }
        if wanted.version != nil {
            return Misfit(why: "is not a version of a preset in the ledger", hint: presetsHint)
        }
        // With `--tenant`, only the ledger is asked.
        if known.contains(wanted.name) { return Misfit(why: "is not in the ledger") }
        return Misfit(why: "is not a preset" + meant.question, hint: meant.isEmpty ? presetsHint : nil)
    }

    static let presetsHint = "\"sluice presets\" lists them"
}

/// The presets that one command has looked up: all of its outputs have the same version.
final class PresetMemory: Sendable {
    private let known = Mutex<[PresetReference: NamedPreset]>([:])
    /// Whether files and ledgers may be asked.
    private let looksUp: Bool

    init(looksUp: Bool = true) { self.looksUp = looksUp }

    /// The user's file, the machine's file, the built-in preset, or what the ledger has. One with a version is in the ledger.
    ///
    /// No name has two meanings: nothing may have the name of a built-in preset. So the ledger is asked last, and only for
    /// what is nowhere else.
    func find(_ wanted: PresetReference, _ invocation: Invocation) throws -> NamedPreset? {
        if let found = known.withLock({ $0[wanted] }) { return found }
        guard let found = try look(wanted, invocation) else { return nil }
        known.withLock { $0[wanted] = found }
        return found
    }

    private func look(_ wanted: PresetReference, _ invocation: Invocation) throws -> NamedPreset? {
        if wanted.version == nil {
            if looksUp, let found = try PresetFiles.preset(named: wanted.name, invocation.environment) { return found }
            if let preset = Preset.all.first(where: { $0.name == wanted.name }) { return try NamedPreset(preset) }
        }
        guard looksUp else { return nil }
        let invocation = try invocation.reading(LedgerOptions.forms)
        do {
            guard try PresetLedger.mayHave(invocation) else { return nil }
            return try LedgerWork.run(invocation) { try await $0.preset(wanted, ofTenant: nil) }
        } catch let error as LedgerError {
            throw Refusal(
                message: "the preset \(wanted) is not built in and in no file, and the ledger cannot be asked for it: "
                    + error.detail.printable,
                hint: error.hint?.printable,
                exitCode: LedgerFailurePage(error: error).exitCode
            )
        } catch let refusal as Refusal where refusal.exitCode == .permission && invocation.path != ["submit"] {
            // The ledger of this machine's services, which is not for this user.
            return nil
        }
    }
}

/// Whether a ledger is worth asking for presets.
enum PresetLedger {
    /// A private cluster that is not running is not started for a name that may be a mistake, unless the command submits,
    /// and so starts it anyway.
    static func mayHave(_ invocation: Invocation) throws -> Bool {
        guard try LedgerOptions.place(invocation) == .cluster else { return true }
        // `try?`: where no cluster can be, none has presets.
        guard let cluster = try? PrivateCluster(environment: invocation.environment) else { return false }
        if cluster.runningState() != nil { return true }
        return invocation.path == ["submit"] && access(cluster.place.data, F_OK) == 0
    }
}

extension Invocation {
    /// The presets that this run of the program has looked up.
    var presets: PresetMemory { contexts.presets }
}
