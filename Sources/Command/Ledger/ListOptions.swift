/// The options of everything that prints what the ledger says.
enum ListOptions {
    static let json = Switch("json", "print a line of JSON for each", in: .output)
    static let quiet = Switch("quiet", letter: "q", "print ids only", in: .output)

    static let forms: [OptionForm] = LedgerOptions.forms + [json.form, quiet.form]
}

extension ValueType where Value == Int64 {
    /// A job's, a batch's or a worker's number.
    static let id = ValueType(placeholder: "ID") { text throws(Misfit) in
        guard let number = Int64(text), number > 0 else { throw Misfit(why: "has to be a number, as lists show it") }
        return number
    }
}

extension Invocation {
    /// The words of an argument as numbers of jobs, batches or workers, each once.
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
