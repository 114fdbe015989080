import API
import Console
import Conversion
import FoundationEssentials
import Ledger
import LedgerClient

/// `sluice jobs`: lists the jobs that match a filter, newest first.
enum JobsCommand {
    static let limit = SettledOption<Int>(
        "limit",
        .whole(in: 1...10_000),
        fallback: "50",
        "list at most N jobs",
        in: .output
    )
    static let all = Switch("all", "list all jobs", in: .output)
    static let after = Option<Int64>("after", .id, "continue the list after this job", in: .output)
    static let watch = Switch("watch", "keep the list up to date on a terminal", in: .output)
    static let follow = Switch("follow", letter: "f", "print jobs as they end, until stopped", in: .output)

    static let value: Subcommand = Subcommand(
        name: "jobs",
        summary: "list jobs, their states and their failures",
        discussion: [
            "Lists the newest jobs first; with --source, sorts by source. WHEN is when a job entered its state, "
                + "and for a delayed job when it becomes due.",
            "--follow prints jobs that end from now on, or since --ended-since; with --batch it stops when the "
                + "batch has ended.",
        ],
        options: JobFilterOptions.forms + [JobFilterOptions.remarks.form] + LedgerOptions.forms
            + [
                limit.form, all.form, after.form, watch.form, follow.form, ListOptions.json.form,
                ListOptions.quiet.form,
            ],
        examples: [
            Example(line: "sluice jobs --state failed --batch 17", purpose: "the failed jobs of a batch"),
            Example(
                line: "sluice jobs --source archive:2024/ --all --json",
                purpose: "all jobs of a folder, for programs"
            ),
            Example(line: "sluice jobs --follow --state failed", purpose: "failures as they happen"),
            Example(line: "sluice jobs --batch last --remarks", purpose: "what the outputs of a batch lack"),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        if invocation[watch] || invocation[follow] {
            for other in [all.form, after.form] where invocation.origin(of: other) != nil {
                throw UsageError("\(other.word) cannot be combined with --watch or --follow")
            }
            if invocation[watch], invocation[follow] { throw UsageError("--watch and --follow cannot be combined") }
        }
        if invocation[watch] { return try JobWatch(invocation, console).run() }
        if invocation[follow] { return try JobFollowing(invocation, console).run() }
        return try list(invocation, console)
    }

    private static func list(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let isWhole = invocation[all]
        let listing = JobListing(invocation, console)
        let list = try LedgerWork.run(invocation) { ledger -> Listed in
            let now = try await ledger.time()
            let batch = try await JobFilterOptions.batch(invocation, on: ledger)
            let filter = try JobFilterOptions.filter(invocation, batch: batch, now: now)
            var cursor = try await cursor(invocation, ledger)
            var (shown, last): (Int, Int64?) = (0, nil)
            var waitingIn: Set<String> = []
            repeat {
                let page = try await ledger.jobs(
                    matching: filter,
                    after: cursor,
                    limit: isWhole ? 1_000 : Int32(invocation[limit])
                )
                if shown == 0 || !page.jobs.isEmpty { try listing.show(page.jobs, now: now, isFirst: shown == 0) }
                waitingIn.formUnion(page.jobs.filter { $0.state == .waiting }.map(\.queue))
                shown += page.jobs.count
                last = page.jobs.last?.job ?? last
                cursor = page.next
            } while isWhole && cursor != nil
            let unable = waitingIn.isEmpty ? [] : try await Self.unable(in: waitingIn, ledger)
            return Listed(shown: shown, hasMore: cursor != nil, last: last, unable: unable)
        }
        listing.remark(shown: list.shown, hasMore: list.hasMore, last: list.last)
        listing.warn(of: list.unable)
        return .success
    }

    /// The lanes of these queues whose jobs no running worker can do.
    private static func unable(in queues: Set<String>, _ ledger: any CommandLedger) async throws -> [UnableLane] {
        do {
            // Without any worker, no job can run; `status` reports that.
            guard try await ledger.status().workers > 0 else { return [] }
            return try await ledger.unableLanes().filter { queues.contains($0.queue) }
        } catch let error as LedgerError where error.code == .ledgerPermissionDenied {
            // Tenants learn nothing of workers.
            return []
        }
    }

    /// What the list printed, and the lanes of its queues whose jobs no worker can do.
    private struct Listed: Sendable {
        let shown: Int
        let hasMore: Bool
        let last: Int64?
        let unable: [UnableLane]
    }

    /// The cursor that continues after the job given with `--after`. A list sorted by source also needs its source.
    private static func cursor(_ invocation: Invocation, _ ledger: any CommandLedger) async throws -> JobCursor? {
        guard let job = invocation[after] else { return nil }
        struct Place: Encodable {
            let job: Int64
            var source: String?
        }
        var place = Place(job: job)
        if invocation[JobFilterOptions.source] != nil {
            guard let story = try await ledger.story(of: job) else { throw Refusal.missing("job \(job)") }
            place.source = story.summary.source
        }
        return JobCursor(text: try JSONText.line(place))
    }
}

/// Prints pages of jobs in the format that the user chose.
struct JobListing: Sendable {
    let invocation: Invocation
    let console: CommandOutput
    private let places: LocalPlaces?

    init(_ invocation: Invocation, _ console: CommandOutput) {
        (self.invocation, self.console) = (invocation, console)
        places = LocalPlaces.known(to: invocation)
    }

    private var listing: Listing { Listing(invocation, console) }

    private var states: [JobState] { invocation.all(JobFilterOptions.state).flatMap { $0 } }

    func show(_ jobs: [JobSummary], now: Date, isFirst: Bool) throws {
        // An empty page says nothing: `remark` does.
        if jobs.isEmpty { return }
        try listing.print(jobs, ids: { "\($0.job)" }) {
            JobTable(
                jobs: jobs,
                now: now,
                showsState: states.count != 1 && !invocation[JobFilterOptions.remarks],
                showsRemarks: invocation[JobFilterOptions.remarks],
                isPage: invocation[JobsCommand.all],
                places: places
            ).lines(for: console.data, headed: isFirst)
        }
    }

    /// Warns about waiting jobs that no worker can do. Silent in the formats for programs.
    func warn(of lines: [UnableLane]) {
        guard listing.isForPeople else { return }
        var said: Set<String> = []
        for note in lines.map(\.note.printable) where said.insert(note).inserted { console.warn(note) }
    }

    /// Prints whether there are more jobs, and which command to use next. Silent in the formats for programs.
    func remark(shown: Int, hasMore: Bool, last: Int64?) {
        guard listing.isForPeople else { return }
        if shown == 0 {
            console.say(JobFilterOptions.isSaid(invocation) ? "no job matches" : "no jobs")
        } else if hasMore, let last {
            let words = JobFilterOptions.words(invocation)
            listing.sayMore("sluice jobs \(words.isEmpty ? "" : words + " ")--after \(last), or --all")
        } else if states == [.failed], let last {
            console.say("\"sluice errors\" groups them, \"sluice job \(last)\" shows the details")
        }
    }
}
