import API
import Console
import Conversion
import Ledger
import LedgerClient

/// `sluice status --all-contexts`: prints one line for the ledger of each context.
enum ContextsStatus {
    /// How long to wait for a ledger that does not answer.
    private static let patience = Duration.seconds(5)

    /// The result of asking one ledger.
    private struct Look: Sendable {
        let context: LedgerContext
        let answer: Result<StatusFacts, LedgerError>
    }

    static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        for form in LedgerOptions.forms where invocation.origin(of: form) == .commandLine {
            throw UsageError("--all-contexts and \(form.word) cannot be combined")
        }
        let book = try invocation.contexts.book()
        guard !book.contexts.isEmpty else {
            throw Refusal(
                message: "no contexts",
                hint: "add one with \"sluice config set-context NAME --database URL\", or --url URL",
                exitCode: .notFound
            )
        }
        let environment = invocation.environment
        let result = ForegroundWork.run { () async -> [Look] in
            await withTaskGroup(of: Look.self) { group in
                for context in book.contexts { group.addTask { await look(at: context, environment) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }
        if let signal = result.signal { return signal }
        let looks = result.value.sorted { $0.context.name < $1.context.name }
        if invocation[ListOptions.json] {
            for look in looks { try console.print(line(of: look)) }
        } else {
            try console.print(table(looks, current: book.current).lines(for: console.data).joined(separator: "\n"))
            remark(looks, console)
        }
        let isWhole = looks.allSatisfy { if case .success = $0.answer { true } else { false } }
        return isWhole ? .success : .someFailed
    }

    private static func look(at context: LedgerContext, _ environment: [String: String]) async -> Look {
        do {
            if var place = try LedgerOptions.coordinator(of: context, environment) {
                (place.reachTimeout, place.answerTimeout) = (patience, patience)
                var facts = try await RemoteLedger(place).facts(context: context.name)
                facts.build = Version.number
                return Look(context: context, answer: .success(facts))
            }
            var configuration = try context.configuration(environment)
            (configuration.reachTimeout, configuration.operationTimeout) = (patience, patience)
            let ledger = try JobLedger(configuration)
            let answer: Result<StatusFacts, any Error>
            do {
                var facts = try await StatusFacts.look(at: ledger, context: context.name)
                facts.build = Version.number
                answer = .success(facts)
            } catch {
                answer = .failure(error)
            }
            await ledger.close()
            return Look(context: context, answer: .success(try answer.get()))
        } catch let error as LedgerError {
            return Look(context: context, answer: .failure(error))
        } catch let refusal as Refusal {
            // Such as a file with the token that is missing.
            let failure = LedgerError(
                .ledgerBadConfiguration,
                during: "read the status",
                refusal.message,
                hint: refusal.hint
            )
            return Look(context: context, answer: .failure(failure))
        } catch {
            let failure = LedgerError(.ledgerUnexpectedAnswer, during: "read the status", "\(error)")
            return Look(context: context, answer: .failure(failure))
        }
    }

    // MARK: - Output

    private static func table(_ looks: [Look], current: String?) -> TextTable {
        var table = TextTable([
            .init(title: ""), .init(title: "CONTEXT"), .init(title: "STATE"), .init(title: "WORKERS", isNumber: true),
            .init(title: "WAITING", isNumber: true), .init(title: "RUNNING", isNumber: true),
            .init(title: "FAILED", isNumber: true), .init(title: "COMPLETED", isNumber: true),
            .init(title: "LEDGER", isElastic: true, mayGo: true),
        ])
        for look in looks {
            let head = [
                TextTable.Cell(look.context.name == current ? "*" : ""),
                TextTable.Cell(look.context.name, look.context.ink),
            ]
            switch look.answer {
            case .success(let facts):
                let jobs = facts.status.jobs
                let isWell = facts.notes.isEmpty
                table.add(
                    head + [
                        .init(isWell ? "all well" : "see below", isWell ? .good : .careful),
                        .init(Figures.grouped(facts.workers.alive)),
                        .init(Figures.grouped(jobs.waiting + jobs.delayed)),
                        .init(Figures.grouped(jobs.running + jobs.publishing)), .init(Figures.grouped(jobs.failed)),
                        .init(Figures.grouped(jobs.completed)), .init(facts.place),
                    ]
                )
            case .failure:
                let unknown = Array(repeating: TextTable.Cell("-"), count: 6)
                table.add(head + [.init("no answer", .bad)] + unknown)
            }
        }
        return table
    }

    private static func remark(_ looks: [Look], _ console: CommandOutput) {
        for look in looks {
            let name = look.context.name
            switch look.answer {
            case .success(let facts): for note in facts.notes { console.warn("\(name): \(note.line)".printable) }
            case .failure(let error):
                console.complain(
                    "context \(name): \(error.detail)".printable,
                    details: ["code \(error.code.rawValue)"],
                    hint: error.hint?.printable
                )
            }
        }
    }

    /// The JSON form of a ledger that did not answer.
    private struct Absence: Encodable {
        struct Failure: Encodable {
            let code: String
            let message: String
            let hint: String?
        }

        let context: String
        let failure: Failure
    }

    private static func line(of look: Look) throws -> String {
        switch look.answer {
        case .success(let facts): return try JSONText.line(JSONRecord(facts))
        case .failure(let error):
            let failure = Absence.Failure(code: error.code.rawValue, message: error.detail, hint: error.hint)
            return try JSONText.line(Absence(context: look.context.name, failure: failure))
        }
    }
}
