import API
import Conversion
import HTTPServer
import Ledger

/// What a person asks for on the page for submissions, so far.
struct SubmissionDraft: Sendable {
    /// The most sources of one form; programs send more.
    static let mostSources = 1_000
    /// Bytes of a form that outlives a session: those of a thousand sources, as they are usually named.
    static let mostKept = 64 << 10

    /// Locations, one from each line.
    let sources: [String]
    let preset: String?
    /// A template; without one, that of the tenant.
    let destination: String?
    let conflict: String
    let queue: String?
    let name: String?
    /// By which the ledger recognises the submission when it is sent twice.
    let key: String?
    /// Whether the form submits jobs. Otherwise it shows what it would submit.
    let isFinal: Bool

    init(_ query: PageQuery) {
        sources = (query.text("sources") ?? "").split(whereSeparator: \.isNewline).map { String($0.trimmingSpaces) }
            .filter { !$0.isEmpty }
        (preset, destination) = (query.text("preset"), query.text("destination"))
        conflict = query.text("conflict") ?? Recipe.ConflictPolicy.fail.rawValue
        (queue, name) = (query.text("queue"), query.text("name"))
        key = query.text("key")
        isFinal = query.text("step") == "submit"
    }

    /// The destinations of the sources, in their order; `nil`: the tenant's template decides.
    func destinations(_ presets: [NamedPreset]) throws(Problem) -> [String]? {
        func refuse(_ field: String, _ detail: String) -> Problem {
            Problem(.badBody, mistakes: [.init(pointer: field, detail: detail)])
        }
        guard !sources.isEmpty else { throw refuse("sources", "are missing") }
        guard sources.count <= Self.mostSources else {
            let most = Figures.grouped(Self.mostSources)
            throw refuse("sources", "may be \(most) at a time; \"sluice submit\" takes more")
        }
        guard let destination else { return nil }
        let chosen = presets.last { $0.name == preset }
        guard preset == nil || chosen != nil else { throw refuse("preset", "is not known") }
        // `try?`: what a preset of a newer version makes is not known here, which matters only for `{ext}`.
        let format = chosen.flatMap { try? $0.own() }?.format
        let made = try Destinations.made(of: sources, by: destination, preset: preset, format)
        var seen: [String: String] = [:]
        for (source, place) in zip(sources, made) {
            if let other = seen.updateValue(source, forKey: place) {
                throw refuse(source, "would become \(place), as \(other) would")
            }
        }
        return made
    }

    /// The body of a request to the API.
    func body(_ destinations: [String]?) -> [String: JSONValue] {
        let jobs = sources.enumerated().map { place, source in
            var job: [String: JSONValue] = ["source": .text(source), "onConflict": .text(conflict)]
            job["output"] = destinations.map { .text($0[place]) }
            job["preset"] = preset.map { .text($0) }
            return JSONValue.object(job)
        }
        var body: [String: JSONValue] = ["jobs": .list(jobs)]
        body["queue"] = queue.map { .text($0) }
        body["name"] = name.map { .text($0) }
        return body
    }

    /// The same in a form, from which it is sent again.
    func fields(key: String?) -> HTML {
        let items: [(String, String?)] = [
            ("sources", sources.joined(separator: "\n")), ("preset", preset), ("destination", destination),
            ("conflict", conflict), ("queue", queue), ("name", name), ("key", key),
        ]
        return .all(
            items.map { name, value in
                value.map { "<input type=\"hidden\" name=\"\(name)\" value=\"\(value: $0)\">" } ?? ""
            }
        )
    }

    /// The command that submits the same.
    var command: String {
        var words = ["sluice submit"] + sources.prefix(3).map(\.shellWord)
        if sources.isEmpty { words.append("SOURCE...") } else if sources.count > 3 { words.append("...") }
        for (option, value) in [("to", destination), ("preset", preset), ("queue", queue), ("label", name)] {
            if let value { words.append("--\(option) \(value.shellWord)") }
        }
        if conflict != Recipe.ConflictPolicy.fail.rawValue { words.append("--on-conflict \(conflict.shellWord)") }
        return words.joined(separator: " ")
    }
}
