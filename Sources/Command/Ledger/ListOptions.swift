import Console

/// The options of all commands that print data from the ledger.
enum ListOptions {
    static let json = Switch("json", "print one JSON line per item", in: .output)
    static let quiet = Switch("quiet", letter: "q", "print ids only", in: .output)

    static let forms: [OptionForm] = LedgerOptions.forms + [json.form, quiet.form]
    /// Of commands that need the database.
    static let databaseForms: [OptionForm] = LedgerOptions.databaseForms + [json.form, quiet.form]
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
