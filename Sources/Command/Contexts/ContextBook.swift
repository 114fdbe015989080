import Console
import Conversion
import FoundationEssentials
import Ledger
import LedgerClient
import Worker

/// The contexts of a user, and which one is current.
struct ContextBook: Sendable, Hashable {
    private var byName: [String: LedgerContext] = [:]
    /// The context that commands use when neither an option nor a variable names a ledger.
    private(set) var current: String?

    /// Sorted by name.
    var contexts: [LedgerContext] { byName.values.sorted { $0.name < $1.name } }

    mutating func set(_ context: LedgerContext) { byName[context.name] = context }

    /// Makes the named context current; `nil` leaves none current.
    mutating func use(_ name: String?) throws(UnknownContext) {
        if let name { _ = try context(named: name) }
        current = name
    }

    mutating func remove(_ name: String) throws(UnknownContext) {
        _ = try context(named: name)
        byName[name] = nil
        if current == name { current = nil }
    }

    func has(_ name: String) -> Bool { byName[name] != nil }

    func context(named name: String) throws(UnknownContext) -> LedgerContext {
        guard let context = byName[name] else { throw UnknownContext(name: name, known: byName.keys.sorted()) }
        return context
    }
}

/// Thrown for a name that no context has.
struct UnknownContext: Error, Hashable {
    let name: String
    let known: [String]

    var message: String {
        let near = EditDistance.nearest(to: name, among: known)
        return "unknown context \"\(name)\"" + (near.map { "; did you mean \"\($0)\"?" } ?? "")
    }

    var hint: String {
        known.isEmpty
            ? "there are no contexts; add one with \"sluice config set-context NAME --database URL\", or --url URL"
            : "known contexts: \(known.joined(separator: ", "))"
    }

    /// The error that a command reports for the name.
    func refusal(exitCode: ExitCode = .notFound) -> Refusal {
        Refusal(message: message, hint: hint, exitCode: exitCode)
    }
}

// MARK: - JSON

extension ContextBook {
    /// Why the text of a book is invalid, without quoting it: an address in it may hold a password.
    struct Damage: Error, Hashable { let why: String }

    private struct Text: Codable {
        struct Entry: Codable {
            var database: String?
            var url: String?
            var tokenFile: String?
            var insecureHTTP: Bool?
            var schema: String?
            var roots: [String]?
            /// Roots that are buckets. Version 0.1.0 refuses a file with a bucket among `roots`, and ignores this field.
            var buckets: [String]?
            var color: String?
        }

        var current: String?
        var contexts: [String: Entry]?
    }

    init(json: Data) throws(Damage) {
        let text: Text
        do {
            text = try JSONDecoder().decode(Text.self, from: json)
        } catch {
            throw Damage(why: "it is not valid JSON with the fields that \"sluice config set-context\" writes")
        }
        for (name, entry) in (text.contexts ?? [:]).sorted(by: { $0.key < $1.key }) {
            set(try Self.context(name, entry))
        }
        guard let current = text.current else { return }
        do throws(UnknownContext) {
            try use(current)
        } catch {
            throw Damage(why: "its current context \"\(current.printable)\" does not exist")
        }
    }

    private static func context(_ name: String, _ entry: Text.Entry) throws(Damage) -> LedgerContext {
        guard LedgerContext.isName(name) else {
            throw Damage(why: "\"\(name.printable)\" is not a valid context name")
        }
        func damage(_ what: String) -> Damage { Damage(why: "the context \(name) has an invalid value for \(what)") }
        var context = LedgerContext(name: name, database: entry.database)
        do {
            if let database = entry.database { _ = try LedgerConfiguration(url: database) }
        } catch {
            throw damage("database")
        }
        context.coordinator = try coordinator(entry, damage)
        guard context.database != nil || context.coordinator != nil else { throw damage("database") }
        if let schema = entry.schema {
            do {
                context.schema = try SchemaName(schema)
            } catch {
                throw damage("schema")
            }
        }
        context.roots = (entry.roots ?? []) + (entry.buckets ?? [])
        do {
            let places = try context.rootPlaces
            guard places.allSatisfy({ !$0.isFolder || $0.path.hasPrefix("/") }) else { throw damage("roots") }
        } catch {
            throw damage("roots")
        }
        if let color = entry.color {
            guard let colour = ContextColour(rawValue: color) else { throw damage("color") }
            context.colour = colour
        }
        return context
    }

    private static func coordinator(_ entry: Text.Entry, _ damage: (String) -> Damage) throws(Damage)
        -> LedgerContext.Coordinator?
    {
        guard let text = entry.url else {
            guard entry.tokenFile == nil, entry.insecureHTTP == nil else { throw damage("url") }
            return nil
        }
        let url: CoordinatorURL
        do {
            url = try CoordinatorURL(text)
        } catch {
            throw damage("url")
        }
        guard entry.tokenFile?.hasPrefix("/") ?? true else { throw damage("tokenFile") }
        return LedgerContext.Coordinator(
            url: url,
            tokenFile: entry.tokenFile,
            isInsecure: entry.insecureHTTP ?? false
        )
    }

    /// The text for the file, one fact per line.
    func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let entries = try byName.mapValues { context throws -> Text.Entry in
            let roots = zip(context.roots, try context.rootPlaces)
            let folders = roots.compactMap { word, place -> String? in place.isBucket ? nil : word }
            let buckets = roots.compactMap { word, place -> String? in place.isBucket ? word : nil }
            return Text.Entry(
                database: context.database,
                url: context.coordinator?.url.description,
                tokenFile: context.coordinator?.tokenFile,
                insecureHTTP: context.coordinator?.isInsecure == true ? true : nil,
                schema: context.schema.text,
                roots: folders.isEmpty ? nil : folders,
                buckets: buckets.isEmpty ? nil : buckets,
                color: context.colour?.rawValue
            )
        }
        return try encoder.encode(Text(current: current, contexts: entries)) + Data("\n".utf8)
    }
}
