import API
import Console
import Conversion
import FoundationEssentials
import Ledger
import LedgerClient
import System

/// The common part of `retry`, `cancel`, `prioritize` and `accept`: selects jobs, counts them, asks for confirmation,
/// changes them.
struct Steering: Sendable {
    /// `retry`
    let verb: String
    /// The change to the selected jobs.
    let change: JobChange
    /// The states to use if neither ids nor states are given; `nil` means all states in which the change has an
    /// effect.
    var usualStates: [JobState]?

    /// The argument for ids; shells offer the ids of jobs in `states`.
    static func identifiers(in states: [JobState]) -> Argument {
        Argument(
            name: "ID",
            summary: "the ids of jobs, or last for --batch last; without them, options select jobs",
            count: .any,
            completion: .ledger(.jobs(states))
        )
    }

    /// Finds the ids of all these commands, because arguments are looked up by name.
    private static let ids = identifiers(in: [])

    static let all = Switch("all", "all eligible jobs", in: .jobs)
    private static let json = Switch("json", "print the result as one JSON line", in: .output)

    static let forms: [OptionForm] =
        JobFilterOptions.forms + [all.form] + LedgerOptions.forms
        + [json.form, Question.dryRun.form, Question.yes.form]

    /// What the selection covers.
    private struct Prospect: Sendable {
        let filter: JobFilter
        let count: Int
        /// The number of selected jobs that are publishing.
        let publishing: Int
        /// The number of given ids whose state makes the change pointless.
        var idle = 0
    }

    func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let ids = try wantedIDs(invocation)
        let prospect = try LedgerWork.run(invocation) { try await look(ids, invocation, $0) }
        if prospect.idle > 0 {
            let those = Figures.subject(prospect.idle, "job")
            console.warn("\(those) in a state in which \(verb) has no effect")
        }
        guard prospect.count > 0 || change.isRetry && prospect.publishing > 0 else {
            if invocation[Self.json] { try show(nil, count: 0, invocation, console) }
            console.complain("nothing to \(verb)\(change.excuse(publishing: prospect.publishing))")
            return .nothingMatched
        }
        let what = change.sentence(prospect.count, publishing: prospect.publishing)
        if invocation[Question.dryRun] {
            if invocation[Self.json] {
                try show(nil, count: prospect.count, invocation, console)
            } else {
                try console.print("would \(what)\nnothing was done (--dry-run)")
            }
            return .success
        }
        guard try Question.agrees(to: what, invocation, console) else {
            console.say("nothing was done")
            return .failure
        }
        return try carryOut(prospect, invocation, console)
    }

    // MARK: - Selecting jobs

    private func wantedIDs(_ invocation: Invocation) throws -> [Int64]? {
        let isLast = invocation.saysLast(Self.ids)
        let ids = isLast ? [] : try invocation.ids(Self.ids)
        let isFiltered = JobFilterOptions.isSaid(invocation)
        if isLast {
            guard invocation[JobFilterOptions.batch] == nil, !invocation[Self.all] else {
                throw UsageError("\"last\" names a batch already", hint: "leave out --batch and --all")
            }
            return nil
        }
        if !ids.isEmpty {
            guard !isFiltered, !invocation[Self.all] else {
                throw UsageError("ids cannot be combined with options that select jobs")
            }
            return ids
        }
        guard isFiltered || invocation[Self.all] else {
            throw UsageError("no jobs selected", hint: "give ids, use --batch or another selection, or use --all")
        }
        return nil
    }

    private func look(_ ids: [Int64]?, _ invocation: Invocation, _ ledger: any CommandLedger) async throws -> Prospect {
        if let ids {
            let filter = JobFilter(ids: ids)
            var (known, batches): (Set<Int64>, Set<Int64>) = ([], [])
            var cursor: JobCursor?
            repeat {
                let page = try await ledger.jobs(matching: filter, after: cursor, limit: 1_000)
                known.formUnion(page.jobs.map(\.job))
                batches.formUnion(page.jobs.map(\.batch))
                cursor = page.next
            } while cursor != nil
            let missing = ids.filter { !known.contains($0) }
            // Before anything changes: a user who mistypes one id may have mistyped others.
            guard missing.isEmpty else {
                let names = missing.prefix(5).map { "\($0)" }.joined(separator: ", ")
                throw Refusal.missing(
                    "\(Plural.form("job", for: missing.count)) \(names)\(missing.count > 5 ? ", ..." : "")"
                )
            }
            let (count, publishing) = try await ledger.prospect(of: change, matching: filter)
            if count == 0, publishing == 0 {
                // Asked for a whole batch, the ledger says if it belongs to others. Some batches are enough: the first
                // refusal ends the command.
                for batch in batches.sorted().prefix(10) {
                    _ = try await ledger.prospect(of: change, matching: JobFilter(batch: batch))
                }
            }
            let idle = ids.count - count - (change.leavesPublishing ? 0 : publishing)
            return Prospect(filter: filter, count: count, publishing: publishing, idle: idle)
        }
        let now = try await ledger.time()
        let batch =
            invocation.saysLast(Self.ids)
            ? try await BatchName.last.id(on: ledger) : try await JobFilterOptions.batch(invocation, on: ledger)
        var filter = try JobFilterOptions.filter(invocation, batch: batch, now: now)
        if filter.states == nil { filter.states = usualStates }
        let (count, publishing) = try await ledger.prospect(of: change, matching: filter)
        return Prospect(filter: filter, count: count, publishing: publishing)
    }

    // MARK: - Changing them

    private func carryOut(_ prospect: Prospect, _ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let sofar = Latest<ChangeTally?>(nil)
        let bar = CountBar(of: prospect.count, "job", outlet: console.talk)
        do {
            let tally = try LedgerWork.run(invocation, onTick: { bar.show(sofar.value?.seen ?? 0) }) { ledger in
                try await ledger.apply(change, to: prospect.filter) { sofar.value = $0 }
            }
            bar.clear()
            try show(tally, count: prospect.count, invocation, console)
            return .success
        } catch {
            bar.clear()
            // Changes made before the error stay, so report how many there were.
            if let tally = sofar.value, tally.changed + tally.publishing > 0 {
                console.say(change.words(tally) + " before the error")
            }
            throw error
        }
    }

    /// Prints the result; `nil` if nothing was changed.
    private func show(_ tally: ChangeTally?, count: Int, _ invocation: Invocation, _ console: CommandOutput) throws {
        if invocation[Self.json] {
            try console.print(JSONText.line(JSONRecord(ChangeRecord(change, count: count, tally: tally))))
        } else if let tally {
            try console.print(change.words(tally))
        }
    }
}
