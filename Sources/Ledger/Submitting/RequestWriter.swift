import Conversion
import FoundationEssentials

/// Writes the jobs of a submission in the ledger's form, and computes the digest of all of them.
struct RequestWriter {
    /// Submissions of at least this many jobs use COPY.
    static let smallCount = 200
    /// The most bytes of a recipe. The ledger has the same default limit.
    static let recipeLimit = 128 << 10
    static let columns = [
        "ordinal", "recipe", "cost", "needs", "max_attempts", "run_at", "labels", "work", "source_bytes",
        "source_modified",
    ]

    private(set) var digest = RequestDigest()
    private var recipeText = RecipeText()
    private var count: Int32 = 0

    /// Whether the digest covers the jobs, and not the submission's own `request`.
    private let takesJobs: Bool

    init(_ submission: Submission) {
        takesJobs = submission.request == nil
        if let request = submission.request {
            digest.add(request)
            return
        }
        digest.add(submission.queue)
        digest.add("\(submission.priority) \(submission.weight) \(submission.maxAttempts ?? 0)")
        digest.add(submission.runAt?.ledgerText ?? "")
        for webhook in submission.notify { digest.add(webhook) }
    }

    /// A job, ready to be sent.
    struct Written: Sendable {
        var ordinal: Int32
        var recipe: String
        var work: Int64
        var request: JobRequest

        func append(to row: inout CopyRow) {
            row.append(ordinal)
            row.append(JSON(text: recipe))
            row.append(request.cost)
            row.append(request.needs.isEmpty ? nil : request.needs)
            row.append(request.maxAttempts)
            row.append(request.runAt)
            row.append(labels)
            row.append(work)
            row.append(request.stamp?.bytes)
            row.append(request.stamp?.modified)
        }

        var labels: JSON? {
            guard !request.labels.isEmpty else { return nil }
            var text = ""
            text.appendJSON(request.labels)
            return JSON(text: text)
        }

        /// The job as a JSON object.
        var json: String {
            var text = "{\"recipe\":"
            text += recipe
            text += ",\"work\":\(work)"
            if let stamp = request.stamp {
                text += ",\"source_bytes\":\(stamp.bytes),\"source_modified\":\(stamp.modified)"
            }
            if let cost = request.cost { text += ",\"cost\":\(cost)" }
            if let attempts = request.maxAttempts { text += ",\"max_attempts\":\(attempts)" }
            if let time = request.runAt { text += ",\"run_at\":\"\(time.ledgerText)\"" }
            if let labels { text += ",\"labels\":\(labels.text)" }
            if !request.needs.isEmpty {
                text += ",\"needs\":["
                for (place, need) in request.needs.enumerated() {
                    if place > 0 { text += "," }
                    text.appendJSON(need)
                }
                text += "]"
            }
            return text + "}"
        }
    }

    /// Throws `refused` if the recipe cannot be encoded or is too long.
    mutating func write(_ request: JobRequest) throws -> Written {
        let recipe: (json: String, work: Int64)
        do {
            recipe = try recipeText.write(request.recipe)
        } catch {
            throw LedgerError(.ledgerRefused, during: "submit jobs", "job \(count + 1): \(error)")
        }
        count += 1
        let bytes = recipe.json.utf8.count
        guard bytes <= Self.recipeLimit else {
            throw LedgerError(
                .ledgerRefused,
                during: "submit jobs",
                "job \(count): its recipe has \(Plural.count(bytes, "byte")); the limit is \(Self.recipeLimit)",
                hint: "shorten its tags, or its list of ranges or chapters"
            )
        }
        if takesJobs { addToDigest(request, recipe.json) }
        return Written(ordinal: count, recipe: recipe.json, work: request.work ?? recipe.work, request: request)
    }

    private mutating func addToDigest(_ request: JobRequest, _ recipe: String) {
        digest.add(recipe)
        if request.cost != nil || !request.needs.isEmpty || request.maxAttempts != nil || request.runAt != nil
            || !request.labels.isEmpty
        {
            let times = request.runAt?.ledgerText ?? ""
            digest.add("\(request.cost ?? 0) \(request.maxAttempts ?? 0) \(request.needs) \(times)")
            for (name, value) in request.labels.sorted(by: { $0.key < $1.key }) {
                digest.add(name)
                digest.add(value)
            }
        }
    }

    /// The jobs as one JSON list.
    static func list(_ jobs: [Written]) -> String {
        var text = "["
        for job in jobs {
            if text.utf8.count > 1 { text += "," }
            text += job.json
        }
        return text + "]"
    }
}

/// Jobs for COPY: those that were already written, then the rest as they come.
///
/// A class, so that the digest can be read after all jobs have been sent.
final class StagedRequests<Rest: Sequence>: Sequence, IteratorProtocol
where Rest.Element == JobRequest {
    private var first: IndexingIterator<[RequestWriter.Written]>
    private var rest: Rest.Iterator
    private(set) var writer: RequestWriter

    init(first: [RequestWriter.Written], rest: Rest, writer: RequestWriter) {
        self.first = first.makeIterator()
        self.rest = rest.makeIterator()
        self.writer = writer
    }

    func next() -> Result<RequestWriter.Written, any Error>? {
        if let written = first.next() { return .success(written) }
        return rest.next().map { request in Result { try writer.write(request) } }
    }
}
