import Console
import Conversion
import Ledger

extension ValueType where Value == String {
    /// A name by one of the ledger's rules: `is not the name of a queue`.
    static func name(_ rule: NameRule, of thing: String) -> ValueType {
        ValueType(placeholder: "NAME") { text throws(Misfit) in
            guard !text.isEmpty else { throw .empty }
            guard rule.permits(text) else { throw .noName(rule, of: thing) }
            return text
        }
    }

    static let queueName = name(LedgerRules.queueName, of: "queue").offering(.ledger(.queues))
    static let tenantName = name(LedgerRules.tenantName, of: "tenant")

    /// The key of a submission. Those that begin with `~` are made for submissions without one.
    static let key = ValueType(placeholder: "TEXT") { text throws(Misfit) in
        let lengths = LedgerRules.keyLengths
        guard !text.isEmpty else { throw .empty }
        guard lengths.contains(text.utf8.count) else {
            throw Misfit(why: "must have \(lengths.lowerBound) to \(lengths.upperBound) bytes")
        }
        guard text.first != "~" else { throw Misfit(why: "must not begin with ~") }
        return text
    }

    /// A text of this many characters.
    static func text(_ lengths: ClosedRange<Int>) -> ValueType {
        ValueType(placeholder: "TEXT") { text throws(Misfit) in
            guard !text.isEmpty else { throw .empty }
            guard lengths.contains(text.unicodeScalars.count) else {
                throw Misfit(why: "must have \(lengths.lowerBound) to \(lengths.upperBound) characters")
            }
            return text
        }
    }
}

extension Misfit {
    fileprivate static func noName(_ rule: NameRule, of thing: String) -> Misfit {
        Misfit(why: "cannot be the name of a \(thing)", hint: "allowed: \(rule.words)")
    }
}

extension UsageError {
    /// For a name that stands as an argument: `NAME a b: cannot be the name of a tenant`.
    static func check(_ name: String, in argument: Argument, _ type: ValueType<String>) throws(UsageError) {
        do throws(Misfit) {
            _ = try type.read(name)
        } catch {
            throw UsageError("\(argument.name) \(name.printable): \(error.why)", hint: error.hint)
        }
    }
}
