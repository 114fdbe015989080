import Console
import Conversion
import Ledger

/// The options of all commands that print data from the ledger.
enum ListOptions {
    static let json = Switch("json", "print one JSON line per item", in: .output)
    static let quiet = Switch("quiet", letter: "q", "print ids only", in: .output)

    static let forms: [OptionForm] = LedgerOptions.forms + [json.form, quiet.form]
    /// Of commands that need the database.
    static let databaseForms: [OptionForm] = LedgerOptions.databaseForms + [json.form, quiet.form]
}

/// Prints records in the form that the user chose: as lines of JSON, as ids, or for people.
struct Listing {
    private let console: CommandOutput
    private let isJSON: Bool
    private let isQuiet: Bool

    init(_ invocation: Invocation, _ console: CommandOutput) {
        (self.console, isJSON, isQuiet) = (console, invocation[ListOptions.json], invocation[ListOptions.quiet])
    }

    var isForPeople: Bool { !isJSON && !isQuiet }

    /// Prints each id once. `empty` is said instead of a table without rows.
    func print<Record: DeclaredRecord>(
        _ records: some Collection<Record>,
        ids: (Record) -> String,
        empty: String? = nil,
        lines: () throws -> [String]
    ) throws {
        if isJSON {
            for record in records { try console.print(JSONText.line(JSONRecord(record))) }
        } else if isQuiet {
            var printed: Set<String> = []
            for id in records.lazy.map(ids) where printed.insert(id).inserted { try console.print(id.printable) }
        } else if records.isEmpty, let empty {
            console.say(empty)
        } else {
            try console.print(lines().joined(separator: "\n"))
        }
    }

    /// Says how to see what comes after a page.
    func sayMore(_ command: String) { if isForPeople { console.say("more: \(command)") } }
}

extension ValueType where Value == Int64 {
    /// The id of a job, a batch or a worker.
    static let id = ValueType(placeholder: "ID") { text throws(Misfit) in
        guard let number = Int64(text), number > 0 else { throw Misfit(why: "must be an id, as lists show it") }
        return number
    }
}

extension Invocation {
    /// The words of an argument as ids of jobs, batches or workers, without duplicates.
    func ids(_ argument: Argument) throws(UsageError) -> [Int64] {
        var ids: [Int64] = []
        for word in words(argument) {
            do throws(Misfit) {
                let id = try ValueType<Int64>.id.read(word)
                if !ids.contains(id) { ids.append(id) }
            } catch {
                throw UsageError("\(argument.name) \(word): \(error.why)")
            }
        }
        return ids
    }
}
