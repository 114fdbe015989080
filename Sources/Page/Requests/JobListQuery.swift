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

    init(_ query: PageQuery, now: Date) {
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
        _ read: (String) -> Value?
    ) -> [Value]? {
        let texts = Array(query.words(name).prefix(50))
        guard !texts.isEmpty else { return nil }
        given.append((name, texts.joined(separator: ",")))
        let values = texts.compactMap(read)
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
    var command: String {
        (["sluice jobs"] + given.map { $0.name == "remarks" ? "--remarks" : "--\($0.name) \($0.value.shellWord)" })
            .joined(separator: " ")
    }

    /// The filter in words: `2017/ in the source, failed`.
    var words: String {
        let parts = given.map { name, value in
            switch name {
            case "remarks": "with remarks"
            case "source-contains": "\(value) in the source"
            case "state", "code", "class": value.replacing(",", with: ", ")
            default: "\(name) \(value)"
            }
        }
        return parts.isEmpty ? "all jobs" : parts.joined(separator: "; ")
    }
}
