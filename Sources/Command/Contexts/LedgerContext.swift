import Console
import Ledger
import LedgerClient
import Worker

/// A ledger under the name that the user gave it.
struct LedgerContext: Sendable, Hashable {
    let name: String
    /// The address of its database. It may hold a password and is never printed unmasked. `nil` if commands reach the
    /// ledger by a coordinator only.
    var database: String?
    /// The coordinator that commands ask, those that work over HTTP.
    var coordinator: Coordinator?
    var schema = SchemaName.standard
    /// `NAME=PATH` or `NAME=PATH:RULES`, with absolute paths: the roots for commands that are given no `--root`. In its buckets,
    /// commands find sources also if `--root` names others.
    var roots: [String] = []
    var colour: ContextColour?

    /// A coordinator, and how to show it who asks.
    struct Coordinator: Sendable, Hashable {
        var url: CoordinatorURL
        /// The absolute path of the file with the token.
        var tokenFile: String?
        /// Whether the token may pass in clear text to another machine.
        var isInsecure = false
    }

    init(name: String, database: String? = nil) { (self.name, self.database) = (name, database) }

    var rootPlaces: [WorkerConfiguration.RootPlace] {
        get throws(Misfit) {
            var places: [WorkerConfiguration.RootPlace] = []
            for word in roots { places.append(try ValueType<WorkerConfiguration.RootPlace>.rootPlace.read(word)) }
            return places
        }
    }

    /// Whether the address holds a password.
    var hasPassword: Bool { database.map { PasswordField.hidden(inAddress: $0) != $0 } ?? false }

    /// The server and the database, completed from `environment`, without passwords; `nil` without a database.
    func server(_ environment: [String: String]) throws -> String? {
        try database.map { try LedgerConfiguration(url: $0, environment: environment).server }
    }

    /// Where commands reach the ledger: the coordinator, or else the database.
    func place(_ environment: [String: String]) throws -> String {
        try coordinator?.url.description ?? server(environment) ?? "-"
    }

    /// How to connect to the ledger's database.
    func configuration(_ environment: [String: String]) throws -> LedgerConfiguration {
        guard let database else {
            throw Refusal(
                message: "this needs the database, and the context \(name) has only a coordinator",
                hint: "\"sluice config set-context \(name) --database URL\" adds it",
                exitCode: .configuration
            )
        }
        var configuration = try LedgerConfiguration(url: database, environment: environment)
        configuration.schema = schema
        return configuration
    }

    /// Whether a text is a valid name, by the rule for queues: nothing in it is special to a shell or a terminal.
    static func isName(_ text: String) -> Bool {
        func isPlain(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: false
            }
        }
        let marks: Set<UInt8> = [UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-")]
        guard let first = text.utf8.first, isPlain(first), text.utf8.count <= 63 else { return false }
        return text.utf8.allSatisfy { isPlain($0) || marks.contains($0) }
    }
}

/// The colour of a context's name, so that an important ledger looks unlike the others.
enum ContextColour: String, Sendable, CaseIterable {
    case red, yellow, green, blue, magenta, cyan

    var ink: Ink {
        switch self {
        case .red: .bad
        case .yellow: .careful
        case .green: .good
        case .blue: .blue
        case .magenta: .magenta
        case .cyan: .cyan
        }
    }
}

extension LedgerContext {
    /// The ink for its name.
    var ink: Ink { colour?.ink ?? .strong }
}

extension ValueType where Value == String {
    /// The name of a context, which need not exist yet.
    static let contextName = ValueType(placeholder: "NAME", completion: .ledger(.contexts)) { text throws(Misfit) in
        guard LedgerContext.isName(text) else {
            throw Misfit(
                why: "is not a valid context name",
                hint: "use at most 63 letters, digits, dots, dashes and underscores, and begin with a letter or digit"
            )
        }
        return text
    }
}
