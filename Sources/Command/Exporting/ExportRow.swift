import Console
import Conversion
import FoundationEssentials
import Ledger

/// A job as one row of tab-separated columns.
struct ExportRow {
    private let cells: [String]

    /// The columns that lists also show. The columns after them need the job's attempts and recipe.
    private static let briefColumns = [
        "seq", "job", "state", "worker", "ended", "attempts", "bytes", "sha256", "code", "class", "stage", "source",
    ]
    private static let storyColumns = ["destination", "host", "started", "seconds", "frames", "remarks"]

    static func columns(isBrief: Bool) -> [String] { isBrief ? briefColumns : briefColumns + storyColumns }
    static func head(isBrief: Bool) -> String { columns(isBrief: isBrief).joined(separator: "\t") }

    init(_ number: Int, _ job: JobSummary) {
        cells = [
            "\(number)", "\(job.job)", job.state.rawValue, job.worker ?? "",
            job.state.isEnd ? job.since.formatted(.iso8601WithMilliseconds) : "", "\(job.attempts)",
            job.bytes.map { "\($0)" } ?? "", job.digest ?? "", job.code ?? "", job.kind?.rawValue ?? "",
            job.stage ?? "",
            job.source,
        ]
    }

    init(_ number: Int, _ story: JobStory) {
        let attempt = story.attempts.last
        let seconds = attempt.flatMap { attempt in attempt.endedAt?.timeIntervalSince(attempt.startedAt) }
        let destination: String?
        do {
            destination = try Recipe(json: story.recipe).outputs.first?.location
        } catch {
            // A recipe that a newer build wrote is exported without its destination.
            destination = nil
        }
        cells =
            ExportRow(number, story.summary).cells + [
                destination ?? "", attempt?.host ?? "", attempt?.startedAt.formatted(.iso8601WithMilliseconds) ?? "",
                seconds.map { Figures.decimals($0, 3) } ?? "", attempt?.facts.framesOut.map { "\($0)" } ?? "",
                attempt?.facts.reportOnAll?.briefRemarks ?? "",
            ]
    }

    /// Control characters, including tabs and line ends, are escaped, so that a job stays on one line.
    var line: String { cells.map(\.printable).joined(separator: "\t") }
}
