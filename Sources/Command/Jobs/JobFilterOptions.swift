import Console
import Conversion
import FoundationEssentials
import Ledger
import LedgerClient

/// The options that select jobs. An option that is not given excludes nothing.
enum JobFilterOptions {
    static let state = Option<[JobState]>(
        "state",
        .list("STATE", of: JobState.self),
        "only jobs in these states, separated by commas",
        isRepeatable: true,
        in: .jobs
    )
    static let batch = Option<BatchName>(
        "batch",
        .batch,
        "only jobs of this batch: its number, its label, or \"last\"",
        in: .jobs
    )
    static let queue = Option<String>(
        "queue",
        .queueName,
        "only jobs of this queue",
        in: .jobs
    )
    static let code = Option<FailureCode>(
        "code",
        .failureCode,
        "only jobs that failed with this code, or wait for a retry after it",
        isRepeatable: true,
        in: .jobs
    )
    static let kind = Option<[Failure.Kind]>(
        "class",
        .list("CLASS", of: Failure.Kind.self),
        "only jobs that failed with a code of this class",
        isRepeatable: true,
        in: .jobs
    )
    static let stage = Option<Failure.Stage>(
        "stage",
        .choice("STAGE", \.meaning),
        "only jobs that failed at this stage",
        isRepeatable: true,
        in: .jobs
    )
    static let since = Option<Moment>("since", .moment, "only jobs submitted since then", in: .jobs)
    static let endedSince = Option<Moment>("ended-since", .moment, "only jobs that ended since then", in: .jobs)
    static let source = Option<String>(
        "source",
        .file.named("PLACE"),
        "only jobs whose source begins with this: a path, or archive:2024/",
        in: .jobs
    )
    static let sourceContains = Option<String>(
        "source-contains",
        .text.named("TEXT"),
        "only jobs whose source contains this text; case matters",
        in: .jobs
    )
    /// Only for lists: the commands that change jobs do not change completed ones.
    static let remarks = Switch(
        "remarks",
        "only jobs that were completed with warnings, such as damage or lost tags",
        in: .jobs
    )

    static let forms: [OptionForm] = [
        state.form, batch.form, queue.form, code.form, kind.form, stage.form, since.form, endedSince.form, source.form,
        sourceContains.form,
    ]

    /// The filter that the options describe. `now` must be the ledger's time, because its clock dates the jobs.
    static func filter(_ invocation: Invocation, batch: Int64?, now: Date) throws -> JobFilter {
        func some<Value>(_ values: [Value]) -> [Value]? { values.isEmpty ? nil : values }
        let prefix = try invocation[source].map { try LocalPlaces(invocation).prefix($0) }
        return JobFilter(
            states: some(invocation.all(state).flatMap { $0 }),
            batch: batch,
            queue: invocation[queue],
            codes: some(invocation.all(code).map(\.rawValue)),
            classes: some(invocation.all(kind).flatMap { $0 }),
            stages: some(invocation.all(stage).map(\.rawValue)),
            sourcePrefix: prefix,
            sourceContains: invocation[sourceContains],
            hasRemarks: invocation[remarks] ? true : nil,
            submittedFrom: invocation[since].map { $0.past(from: now) },
            endedFrom: invocation[endedSince].map { $0.past(from: now) }
        )
    }

    /// Whether any of these options was given.
    static func isSaid(_ invocation: Invocation) -> Bool {
        (forms + [remarks.form]).contains { invocation.origin(of: $0) != nil }
    }

    /// The options as words for another command line.
    static func words(_ invocation: Invocation) -> String {
        var words: [String] = []
        func add(_ form: OptionForm, _ values: [String]) {
            for value in values { words += [form.word, ShellWord.quoted(value)] }
        }
        add(state.form, some(invocation.all(state).flatMap { $0 }.map(\.rawValue).joined(separator: ",")))
        add(batch.form, invocation.all(batch).map(\.word))
        add(queue.form, invocation.all(queue))
        add(code.form, invocation.all(code).map(\.rawValue))
        add(kind.form, some(invocation.all(kind).flatMap { $0 }.map(\.rawValue).joined(separator: ",")))
        add(stage.form, invocation.all(stage).map(\.rawValue))
        add(source.form, invocation.all(source))
        add(sourceContains.form, invocation.all(sourceContains))
        if invocation[remarks] { words.append(remarks.form.word) }
        return words.joined(separator: " ")
    }

    private static func some(_ text: String) -> [String] { text.isEmpty ? [] : [text] }

    /// The number of the batch that --batch names; `nil` without the option. Throws if there is no such batch, because
    /// the command could never find a job.
    static func batch(_ invocation: Invocation, on ledger: any CommandLedger) async throws -> Int64? {
        try await invocation[batch]?.id(on: ledger)
    }
}

extension ValueType {
    /// A comma-separated list of words from a fixed set.
    static func list<Item>(_ placeholder: String, of type: Item.Type) -> ValueType
    where Item: RawRepresentable<String> & CaseIterable & Sendable, Value == [Item] {
        let one = ValueType<Item>.choice(placeholder)
        return ValueType(placeholder: placeholder, completion: one.completion) { text throws(Misfit) in
            var items: [Item] = []
            for word in text.split(separator: ",", omittingEmptySubsequences: false) {
                items.append(try one.read(String(word)))
            }
            return items
        }
    }
}
