import CLibPQ
import Conversion

extension Connection {
    /// The rows that a statement returns, each converted by `read`.
    func rows<Value>(_ statement: Statement, _ read: (Row) throws -> Value) throws -> [Value] {
        let answer = try answer(to: statement)
        return try (0..<answer.rowCount).map { number in
            try read(Row(answer: answer, number: Int32(number), operation: operation))
        }
    }

    /// The first row; `nil` if there is none.
    func first<Value>(_ statement: Statement, _ read: (Row) throws -> Value) throws -> Value? {
        let answer = try answer(to: statement)
        guard answer.rowCount > 0 else { return nil }
        return try read(Row(answer: answer, number: 0, operation: operation))
    }

    /// The first column of the only row.
    func value<Value: ColumnValue>(_ statement: Statement, as _: Value.Type = Value.self) throws -> Value {
        let values: [Value] = try rows(statement) { try $0[0] }
        guard values.count == 1 else {
            throw failure(.ledgerUnexpectedAnswer, "the answer has \(Plural.count(values.count, "row")) instead of 1")
        }
        return values[0]
    }

    /// Returns the number of rows that a statement changed or returned.
    @discardableResult
    func execute(_ statement: Statement) throws -> Int { try answer(to: statement).affectedRows }

    /// Calls `body` for each row as it arrives, so memory holds one row at a time.
    ///
    /// `body` may have seen rows when this throws: the server finds some errors late.
    func forEachRow(_ statement: Statement, _ body: (Row) throws -> Void) throws {
        let link = try begin()
        // A row at a time is not possible here without further round trips. All callers read pages.
        if let opening = openingOutsideTransaction(link) {
            let answer = try answer(to: statement, after: opening, on: link)
            for number in 0..<answer.rowCount {
                try body(Row(answer: answer, number: Int32(number), operation: operation))
            }
            return
        }
        try send(statement, on: link)
        guard PQsetSingleRowMode(link.pointer) == 1 else { throw sendingFailed(link) }
        try flush(link)
        var problem: (any Error)?
        while let answer = try nextAnswer(link) {
            switch answer.status {
            case PGRES_SINGLE_TUPLE:
                guard problem == nil else { continue }
                // After an error, read and drop the rest. Otherwise the next statement would receive it.
                do { try body(Row(answer: answer, number: 0, operation: operation)) } catch { problem = error }
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK: continue
            default: problem = problem ?? failure(of: answer, on: link)
            }
        }
        if let problem { throw problem }
    }

    /// Runs statements without parameters, separated by semicolons. Returns the command tag of the last.
    ///
    /// `isOpened`: they contain the run's opening, if it has one.
    @discardableResult
    func script(_ sql: String, changes: Bool? = nil, isOpened: Bool = false) throws -> String {
        let link = try begin(changes: changes)
        var sql = sql
        if !isOpened, let opening = openingOutsideTransaction(link) { sql = "\(opening.sql);\n\(sql)" }
        guard PQsendQuery(link.pointer, sql) == 1 else { throw sendingFailed(link) }
        return try lastAnswer(on: link, to: sql)?.tag ?? ""
    }

    /// Runs statements in one round trip and one transaction. Returns the number of rows that each changed or returned.
    ///
    /// Inside an open transaction they become part of it. The first error makes the whole transaction fail.
    @discardableResult
    func pipeline(_ statements: [Statement]) throws -> [Int] {
        let link = try begin()
        guard let opening = openingOutsideTransaction(link) else {
            return try answers(to: statements, on: link).map(\.affectedRows)
        }
        return try answers(to: [opening] + statements, on: link).dropFirst().map(\.affectedRows)
    }

    /// The run's opening, if the next statement would run outside a transaction and so without it.
    private func openingOutsideTransaction(_ link: Link) -> Statement? {
        guard let opening, link.isOutsideTransaction else { return nil }
        return Statement(stringLiteral: opening.sql)
    }

    private func answers(to statements: [Statement], on link: Link) throws -> [Answer] {
        guard PQenterPipelineMode(link.pointer) == 1 else { throw sendingFailed(link) }
        do {
            let answers = try runPipeline(statements, on: link)
            guard PQexitPipelineMode(link.pointer) == 1 else { throw sendingFailed(link) }
            return answers
        } catch {
            // This fails while answers are outstanding. The connection is then unusable.
            if PQexitPipelineMode(link.pointer) != 1 { close() }
            throw error
        }
    }

    private func runPipeline(_ statements: [Statement], on link: Link) throws -> [Answer] {
        for statement in statements {
            try send(statement, on: link)
            // Thousands of statements may not fit into the buffers, so send and receive in between.
            try flush(link)
        }
        guard PQpipelineSync(link.pointer) == 1 else { throw sendingFailed(link) }
        try flush(link)
        var answers: [Answer] = []
        var problem: LedgerError?
        while true {
            guard let answer = try nextAnswer(link) else {
                if link.isBroken { break }
                continue  // between the answers to two statements
            }
            if answer.status == PGRES_PIPELINE_SYNC { break }
            switch answer.status {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK: answers.append(answer)
            case PGRES_PIPELINE_ABORTED: continue
            default: problem = problem ?? failure(of: answer, on: link)
            }
        }
        if let problem { throw problem }
        guard answers.count == statements.count else {
            throw failure(.ledgerConnectionLost, "the server stopped answering", mayHaveHappened: isFinalChange)
        }
        return answers
    }

    private func answer(to statement: Statement) throws -> Answer {
        let link = try begin()
        if let opening = openingOutsideTransaction(link) { return try answer(to: statement, after: opening, on: link) }
        try send(statement, on: link)
        guard let answer = try lastAnswer(on: link) else {
            throw failure(.ledgerUnexpectedAnswer, "the server did not answer")
        }
        return answer
    }

    /// Runs a statement in a transaction with an opening. The two are sent together, as a pipeline whose statements
    /// are one transaction, and cost one round trip.
    private func answer(to statement: Statement, after opening: Statement, on link: Link) throws -> Answer {
        try answers(to: [opening, statement], on: link)[1]
    }

    /// Takes all answers to what was sent and returns the last. Throws the first error, with its line if `sql` is
    /// given.
    func lastAnswer(on link: Link, to sql: String? = nil) throws -> Answer? {
        try flush(link)
        var last: Answer?
        var problem: LedgerError?
        while let answer = try nextAnswer(link) {
            switch answer.status {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: last = answer
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
                // libpq would return this answer for ever.
                close()
                throw failure(.ledgerBadStatement, "COPY cannot be sent as a statement")
            default: problem = problem ?? failure(of: answer, on: link, to: sql)
            }
        }
        if let problem { throw problem }
        return last
    }
}
