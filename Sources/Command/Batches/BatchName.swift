import Console
import Ledger
import LedgerClient

/// A batch as the command line names it: by its number, by its label, or as the user's last one.
enum BatchName: Sendable, Hashable {
    case id(Int64)
    case label(String)
    /// The newest batch that the user submitted.
    case last

    /// The word that names it.
    var word: String {
        switch self {
        case .id(let id): "\(id)"
        case .label(let label): label
        case .last: "last"
        }
    }

    /// Its number. Throws if there is no such batch, or if several have the label.
    func id(on ledger: any CommandLedger) async throws -> Int64 {
        switch self {
        case .id(let id):
            guard try await ledger.batch(id) != nil else { throw Refusal.missing("batch \(id)") }
            return id
        case .label(let label):
            let ids = try await ledger.batches(labelled: label)
            guard let id = ids.first else { throw Refusal.missing("batch \"\(label.printable)\"") }
            guard ids.count == 1 else {
                let some = ids.prefix(5).map { "\($0)" }.joined(separator: ", ") + (ids.count > 5 ? ", ..." : "")
                throw Refusal(
                    message: "several batches have the label \"\(label.printable)\": \(some)",
                    hint: "name one by its number, as in --batch \(id)"
                )
            }
            return id
        case .last:
            guard let id = try await ledger.lastBatch() else {
                throw Refusal(message: "you have not submitted a batch to this ledger", exitCode: .notFound)
            }
            return id
        }
    }
}

extension ValueType where Value == BatchName {
    static let batch = ValueType(placeholder: "BATCH", completion: .ledger(.batches)) { text throws(Misfit) in
        if text == "last" { return .last }
        if let id = Int64(text) {
            guard id > 0 else { throw Misfit(why: "must be a number above 0, a label, or \"last\"") }
            return .id(id)
        }
        guard !text.isEmpty else { throw Misfit(why: "must be a number, a label, or \"last\"") }
        return .label(text)
    }
}

extension ValueType where Value == String {
    /// A label for a new batch.
    static let label = ValueType(placeholder: ValueType.text.placeholder) { text throws(Misfit) in
        guard LedgerRules.mayBeLabel(text) else {
            throw Misfit(why: "must not be a number or \"last\", because that would name another batch")
        }
        return try ValueType.text(LedgerRules.batchNameLengths).read(text)
    }
}

extension Invocation {
    /// Whether an argument for ids of jobs is `last`, as in `--batch last`: the last batch that the user submitted.
    func saysLast(_ argument: Argument) -> Bool { words(argument) == [BatchName.last.word] }

    /// The words of an argument as batches, without duplicates.
    func batches(_ argument: Argument) throws(UsageError) -> [BatchName] {
        var names: [BatchName] = []
        for word in words(argument) {
            do throws(Misfit) {
                let name = try ValueType<BatchName>.batch.read(word)
                if !names.contains(name) { names.append(name) }
            } catch {
                throw UsageError("\(argument.name) \(word): \(error.why)")
            }
        }
        return names
    }
}
