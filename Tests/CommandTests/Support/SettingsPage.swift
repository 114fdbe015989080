import TestSupport

@testable import Command
@testable import Console
@testable import Ledger

/// The tables of docs/settings.md: the keys of `sluice.setting`, as the migrations declare them, and those of `sluice.conf`.
enum SettingsPage {
    /// A column of the table `setting`.
    private struct Key {
        let name: String
        let type: String
        let isNullable: Bool
        /// As the migration writes it: `'30 s'`.
        let fallback: String
        /// The condition of its check, without the name of the column where it begins with that.
        let check: String?
    }

    /// The columns that the migrations give to the table `setting`, in their order.
    private static func declared() -> [Key] {
        var keys: [Key] = []
        for migration in Migration.embedded {
            var isInside = false
            for line in migration.sql.split(separator: "\n") {
                isInside = isInside || line.hasPrefix("create table setting (") || line.hasPrefix("alter table setting")
                guard isInside else { continue }
                isInside = !line.hasSuffix(";")
                if let key = key(in: line) { keys.append(key) }
            }
        }
        return keys
    }

    /// The column that a line declares; `nil` if it declares none.
    private static func key(in line: Substring) -> Key? {
        let type = #/(?:add column )?(\w+) (interval|smallint|integer|bigint|text|boolean)( not null)?/#
        let rest = #/ default (.+?)(?: check \((.+)\))?[,;]?$/#
        guard !line.drop(while: { $0 == " " }).hasPrefix("--"), let head = line.firstMatch(of: type),
            let tail = line[head.range.upperBound...].prefixMatch(of: rest)
        else { return nil }
        let name = String(head.output.1)
        let check = tail.output.2.map { $0.hasPrefix(name + " ") ? $0.dropFirst(name.count + 1) : $0 }
        return Key(
            name: name,
            type: String(head.output.2),
            isNullable: head.output.3 == nil,
            fallback: String(tail.output.1),
            check: check.map(String.init)
        )
    }

    /// A row for each key of `sluice.setting`. Throws if a key has no meaning here, or a meaning no key.
    static func keys() throws -> String {
        var lines = ["| key | type | default | allowed | meaning |", "| --- | --- | --- | --- | --- |"]
        var left = LedgerSettingMeaning.all
        for key in declared() {
            guard let meaning = left.removeValue(forKey: key.name) else {
                throw SupportError("describe setting.\(key.name)", "LedgerSettingMeaning has no meaning for it")
            }
            let type = key.isNullable ? "\(key.type), null" : key.type
            let allowed = key.check.map { "`\($0)`" } ?? "any"
            lines.append("| `\(key.name)` | \(type) | \(shown(key.fallback)) | \(allowed) | \(meaning) |")
        }
        guard left.isEmpty else {
            throw SupportError("describe settings", "the ledger does not have \(left.keys.sorted())")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// A default without its quotes. One that a function computes is drawn at random.
    private static func shown(_ fallback: String) -> String {
        if fallback.contains("(") { return "random" }
        let isQuoted = fallback.count > 1 && fallback.hasPrefix("'") && fallback.hasSuffix("'")
        return "`\(isQuoted ? String(fallback.dropFirst().dropLast()) : fallback)`"
    }

    /// A row for each key of `sluice.conf`.
    static func options() -> String {
        let workers = Set(WorkerCommand.value.options.map(\.name))
        let coordinators = Set(CoordinatorCommand.value.options.map(\.name))
        var lines = [
            "| key | value | default | variable | for | meaning |", "| --- | --- | --- | --- | --- | --- |",
        ]
        for form in ServiceFile.forms {
            let value = code(form.placeholder) + (form.isRepeatable ? ", repeatable" : "")
            let reader =
                switch (workers.contains(form.name), coordinators.contains(form.name)) {
                case (true, true): "both services"
                case (true, false): "worker"
                case (false, true): "coordinator"
                case (false, false): "other commands"
                }
            let cells = [code(form.name), value, code(form.fallback), code(form.environment), reader, form.summary]
            lines.append("| \(cells.joined(separator: " | ")) |")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func code(_ text: String?) -> String { text.map { "`\($0)`" } ?? "-" }
}
