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
    private static let storyColumns = ["destination", "host", "started", "seconds", "frames", "remarks", "outputs"]

    static func columns(isBrief: Bool) -> [String] { isBrief ? briefColumns : briefColumns + storyColumns }
    static func head(isBrief: Bool) -> String { columns(isBrief: isBrief).joined(separator: "\t") }

    init(_ number: Int, _ job: JobSummary) {
        self.init(
            number,
            job,
            job.digest.flatMap { digest in job.bytes.map { PublishedFile(digest: digest, bytes: $0) } }
        )
    }

    /// `file` is the output that the row describes; `nil` if there is none.
    private init(_ number: Int, _ job: JobSummary, _ file: PublishedFile?) {
        cells = [
            "\(number)", "\(job.job)", job.state.rawValue, job.worker ?? "",
            job.state.isEnd ? job.since.formatted(.iso8601WithMilliseconds) : "", "\(job.attempts)",
            file.map { "\($0.bytes)" } ?? "", file?.digest ?? "", job.code ?? "", job.kind?.rawValue ?? "",
            job.stage ?? "",
            job.source,
        ]
    }

    /// The row of a job, which describes its first output, or with `isEach` a row for each of its outputs.
    static func rows(_ number: Int, _ story: JobStory, isEach: Bool) -> [ExportRow] {
        let outputs: [Recipe.Output]
        do {
            outputs = try Recipe(json: story.recipe).outputs
        } catch {
            // A recipe that a newer build wrote is exported without its destinations.
            outputs = []
        }
        let job = story.summary
        let first = job.digest.flatMap { digest in job.bytes.map { PublishedFile(digest: digest, bytes: $0) } }
        let files = [first] + job.further
        return (0..<(isEach ? max(1, outputs.count) : 1)).map { index in
            ExportRow(
                number,
                story,
                index < files.count ? files[index] : nil,
                at: index < outputs.count ? outputs[index].location : nil,
                of: outputs.count
            )
        }
    }

    /// To the millisecond, as the row prints it. Over HTTP nothing finer is known.
    private static func printed(_ date: Date) -> Date {
        let style: Date.ISO8601FormatStyle = .iso8601WithMilliseconds
        // `try?`: what the style has written it can read.
        return (try? Date(date.formatted(style), strategy: style)) ?? date
    }

    private init(
        _ number: Int,
        _ story: JobStory,
        _ file: PublishedFile?,
        at destination: String?,
        of count: Int
    ) {
        let attempt = story.attempts.last
        let seconds = attempt.flatMap { attempt in
            attempt.endedAt.map { Self.printed($0).timeIntervalSince(Self.printed(attempt.startedAt)) }
        }
        // Of a scan, those that were decoded.
        let frames: Int64? = attempt?.facts.framesOut ?? attempt?.facts.scan?.frames
        let remarks: String? = attempt?.facts.reportOnAll?.briefRemarks ?? attempt?.facts.scan?.damage.brief
        cells =
            ExportRow(number, story.summary, file).cells + [
                destination ?? "", attempt?.host ?? "", attempt?.startedAt.formatted(.iso8601WithMilliseconds) ?? "",
                seconds.map { Figures.decimals($0, 3) } ?? "", frames.map { "\($0)" } ?? "",
                remarks ?? "", count > 0 ? "\(count)" : "",
            ]
    }

    /// Control characters, including tabs and line ends, are escaped, so that a job stays on one line.
    var line: String { cells.map(\.printable).joined(separator: "\t") }
}
