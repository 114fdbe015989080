import API
import Conversion
import FoundationEssentials
import Ledger

/// The filter of a list of jobs in its URL, under the names of the command's options.
struct JobListQuery: Sendable {
    private(set) var filter = JobFilter()
    private(set) var after: JobCursor?
    /// What cannot be read, by parameter.
    private(set) var mistakes: [(name: String, why: String)] = []
    /// What was given, without the position, in the order of the form.
    private(set) var given: [(name: String, value: String)] = []

    private static let mostIDs = 1_000
    /// The parameters that have one value, and those that may have several.
    private static let single: Set = ["batch", "queue", "source", "source-contains", "since", "ended-since", "remarks"]
    private static let lists: Set = ["id", "state", "class", "code", "stage"]

    /// What is wrong with the names of a query that a change follows, where nothing may be left out: a form that only shows
    /// jobs sends fields that were left empty, too. `others` are those that belong to the change.
    static func mistakes(in query: PageQuery, besides others: Set<String>) -> [(name: String, why: String)] {
        query.names.subtracting(others).sorted().compactMap { name in
            if lists.contains(name) { return query.words(name).isEmpty ? (name, "is empty") : nil }
            guard single.contains(name) else { return (name, "does not select jobs for a change") }
            return query.text(name) == nil ? (name, "is empty") : nil
        }
    }

    init(_ query: PageQuery, now: Date) {
        filter.ids = many(query, "id", "numbers of jobs, at most \(Self.mostIDs)", most: Self.mostIDs) { Int64($0) }
        filter.states = many(query, "state", "one of the states of a job", JobState.init(rawValue:))
        filter.classes = many(query, "class", "permanent, transient or infrastructure", Failure.Kind.init(rawValue:))
        filter.codes = many(query, "code", "a code") { $0.utf8.count <= 64 ? $0 : nil }
        filter.stages = many(query, "stage", "a stage") { Failure.Stage(rawValue: $0)?.rawValue }
        filter.batch = one(query, "batch", "the number of a batch") { Int64($0) }
        filter.queue = one(query, "queue", "the name of a queue") { $0 }
        filter.sourcePrefix = one(query, "source", "at most 4,096 bytes long") { $0.utf8.count <= 4_096 ? $0 : nil }
        filter.sourceContains = one(query, "source-contains", "at most 200 characters long") {
            $0.count <= 200 ? $0 : nil
        }
        let time = "a time, as in 30min, 2h, 3d or 2026-11-20"
        filter.submittedFrom = one(query, "since", time) { PageMoment.past($0, from: now) }
        filter.endedFrom = one(query, "ended-since", time) { PageMoment.past($0, from: now) }
        if query.text("remarks") != nil {
            filter.hasRemarks = true
            given.append(("remarks", "true"))
        }
        if let text = query.text("after") {
            do { after = try JobCursor(urlText: text) } catch {
                mistakes.append(("after", "must be the position of a page"))
            }
        }
    }

    private mutating func one<Value>(
        _ query: PageQuery,
        _ name: String,
        _ wanted: String,
        _ read: (String) -> Value?
    ) -> Value? {
        guard let text = query.text(name) else { return nil }
        given.append((name, text))
        let value = read(text)
        if value == nil { mistakes.append((name, "must be \(wanted)")) }
        return value
    }

    private mutating func many<Value>(
        _ query: PageQuery,
        _ name: String,
        _ wanted: String,
        most: Int = 50,
        _ read: (String) -> Value?
    ) -> [Value]? {
        let texts = query.words(name)
        guard !texts.isEmpty else { return nil }
        given.append((name, texts.prefix(most).joined(separator: ",")))
        let values = texts.prefix(most).compactMap(read)
        if values.count < texts.count { mistakes.append((name, "must be \(wanted)")) }
        return values
    }

    func text(_ name: String) -> String { given.first { $0.name == name }?.value ?? "" }

    /// The same list from another position on; without one from its beginning.
    func link(after cursor: JobCursor? = nil) -> PageLink {
        PageLink(["jobs"], query: given + [(name: "after", value: cursor?.urlText ?? "")])
    }

    /// The same list without one part of the filter.
    func link(without name: String) -> PageLink { PageLink(["jobs"], query: given.filter { $0.name != name }) }

    /// The command that lists the same jobs.
    var command: String { "sluice jobs\(options)" }

    /// The filter as options of commands.
    var options: String {
        given.filter { $0.name != "id" }
            .map { $0.name == "remarks" ? " --remarks" : " --\($0.name) \($0.value.shellWord)" }.joined()
    }

    /// The filter as the API takes it for changes, and with the times that are meant now. It knows no `remarks`.
    var json: [String: JSONValue] {
        var json: [String: JSONValue] = [:]
        func texts(_ texts: [String]) -> JSONValue { .list(texts.map { .text($0) }) }
        json["id"] = filter.ids.map { ids in .list(ids.map { .whole($0) }) }
        json["state"] = filter.states.map { texts($0.map(\.rawValue)) }
        json["class"] = filter.classes.map { texts($0.map(\.rawValue)) }
        json["code"] = filter.codes.map(texts)
        json["stage"] = filter.stages.map(texts)
        json["batch"] = filter.batch.map { .whole($0) }
        json["queue"] = filter.queue.map { .text($0) }
        json["source"] = filter.sourcePrefix.map { .text($0) }
        json["sourceContains"] = filter.sourceContains.map { .text($0) }
        json["since"] = filter.submittedFrom.map { .text(PageMoment.text($0)) }
        json["endedSince"] = filter.endedFrom.map { .text(PageMoment.text($0)) }
        return json
    }

    /// What was given, with the times that are meant now: a form that is sent later selects the same jobs.
    var settled: [(name: String, value: String)] {
        given.map { name, value in
            switch name {
            case "since": (name, filter.submittedFrom.map(PageMoment.text) ?? value)
            case "ended-since": (name, filter.endedFrom.map(PageMoment.text) ?? value)
            default: (name, value)
            }
        }
    }

    /// The filter in words: `2017/ in the source, failed`.
    var words: String {
        let parts = given.map { name, value in
            switch name {
            case "remarks": "with warnings"
            case "id": Figures.count(filter.ids?.count ?? 0, "selected job")
            case "source-contains": "\(value) in the source"
            case "state", "code", "class": value.replacing(",", with: ", ")
            default: "\(name) \(value)"
            }
        }
        return parts.isEmpty ? "all jobs" : parts.joined(separator: "; ")
    }
}
