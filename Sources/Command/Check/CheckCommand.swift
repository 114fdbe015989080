import API
import Console
import Conversion
import FoundationEssentials
import Glibc
import Ledger
import LedgerClient
import Storage
import System

/// `sluice check`: compares outputs with the digests and sizes that the ledger recorded.
enum CheckCommand {
    private static let all = Switch("all", "all outputs in the ledger", in: .jobs)
    private static let slots = Option<Int>(
        "slots",
        .whole(in: 1...1_024),
        "number of files to read at once (default: one per processor)",
        in: .work
    )
    private static let repair = Switch("repair", "submit jobs that recreate damaged and missing outputs", in: .work)
    private static let json = Switch("json", "print one JSON line per finding, and a summary line", in: .output)

    private static let filters: [OptionForm] = [
        JobFilterOptions.batch.form, JobFilterOptions.queue.form, JobFilterOptions.source.form,
        JobFilterOptions.sourceContains.form, JobFilterOptions.since.form, JobFilterOptions.endedSince.form,
    ]

    static let value: Subcommand = Subcommand(
        name: "check",
        summary: "compare outputs with their recorded SHA-256 digests",
        discussion: [
            "Reads the outputs of completed jobs and compares their sizes and SHA-256 digests with those "
                + "recorded when they were published. An output that a later job replaced is compared with the record "
                + "of that job. --root maps a root to a folder of this machine; outputs under other roots are counted "
                + "but not checked.",
            "Exit codes: 0 all outputs are unchanged; 3 some are missing, unreadable, or have a different size "
                + "or content; 9 there was nothing to check.",
            "--repair asks for confirmation, then submits jobs that recreate missing outputs and replace "
                + "damaged ones. It needs the database.",
            "Over HTTP, the coordinator compares outputs under roots that are not on this machine, if it serves downloads of "
                + "them. It reads a file again when its size or its times have changed, and one of more than 32 MiB only if "
                + "it has no valid attribute user.sluice, in which workers record the digest.",
        ],
        options: filters + [all.form, SubmitOptions.root.form, slots.form, repair.form] + LedgerOptions.forms
            + [ProgressStyle.option.form, json.form, Question.yes.form],
        examples: [
            Example(line: "sluice check --batch 17", purpose: "the outputs of a batch"),
            Example(
                line: "sluice check --all --root out=/mnt/archive --repair",
                purpose: "all outputs; recreate bad ones"
            ),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let isFiltered = filters.contains { invocation.origin(of: $0) != nil }
        guard isFiltered != invocation[all] else {
            throw isFiltered
                ? UsageError("--all cannot be combined with options that select jobs")
                : UsageError("no outputs selected", hint: "use --batch ID or another selection, or --all")
        }
        if invocation[repair], !invocation[Question.yes], !Question.canBeAsked(console) {
            // Ask before hours of reading: at the end the user may be gone.
            throw UsageError(
                "--repair asks for confirmation before it submits jobs",
                hint: "use --yes to skip the question"
            )
        }
        // A machine's settings may name a database besides the coordinator.
        if invocation[repair], case .coordinator = try LedgerOptions.place(invocation, needsDatabase: true) {
            throw Refusal(
                message: "--repair needs the database: a coordinator does not say what was first requested of a job",
                hint: "name the database with --database or a context; without --repair, the check works over HTTP",
                exitCode: .configuration
            )
        }
        let roots = try LedgerOptions.pathRoots(invocation)
        let coordinator = invocation[repair] ? nil : try LedgerOptions.coordinator(invocation)
        let remote = try coordinator.flatMap { try remoteOutputs($0, invocation) }
        let page = CheckPage(invocation: invocation, console: console, isJSON: invocation[json])
        let (tally, findings) = try check(roots, remote, page, invocation, console)
        guard tally.done > tally.unseen else {
            page.remark(tally)
            console.complain(tally.total == 0 ? "no outputs to check" : "no output could be checked")
            return .nothingMatched
        }
        try page.show(tally)
        guard tally.damaged > 0 else { return .success }
        if invocation[repair] {
            let mending = CheckRepair(roots: roots, findings: findings)
            guard let exitCode = try mending.run(page, invocation, console) else { return .someFailed }
            return exitCode
        }
        return .someFailed
    }

    /// What a coordinator compares; `nil` if it serves no downloads.
    private static func remoteOutputs(
        _ coordinator: CoordinatorPlace,
        _ invocation: Invocation
    ) throws -> RemoteOutputCheck? {
        let offer = try LedgerWork.run(invocation) { ledger in try await (ledger as? RemoteLedger)?.fileOffer() }
        return offer?.downloads.isEmpty == false ? RemoteOutputCheck(coordinator: coordinator) : nil
    }

    /// Reads and compares outputs. Findings are printed as they come, and kept only if they will be repaired.
    private static func check(
        _ roots: PathRoots,
        _ remote: RemoteOutputCheck?,
        _ page: CheckPage,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws -> (OutputCheck.Tally, [CheckRepair.Item]) {
        let display = ProgressWriter(invocation[ProgressStyle.option], outlet: console.talk)
        let start = ContinuousClock.now
        func progress(_ tally: OutputCheck.Tally) -> CheckProgress {
            CheckProgress(tally: tally, passed: .now - start)
        }
        let latest = Latest(OutputCheck.Tally())
        let stopped = Latest(false)
        let pending = Latest<[OutputFinding]>([])
        func printPending() {
            var found: [OutputFinding] = []
            _ = pending.change { waiting in (found, waiting) = (waiting, []) }
            guard !found.isEmpty else { return }
            display.clear()
            for finding in found { page.show(finding) }
        }
        let width = invocation[slots] ?? Parallel.width
        let isKept = invocation[repair]
        do {
            let tick = {
                printPending()
                let tally = latest.value
                if tally.total > 0 { display.show(progress(tally)) }
            }
            let work: @Sendable (any CommandLedger) async throws -> (OutputCheck.Tally, [CheckRepair.Item]) = {
                ledger in
                try await withTaskCancellationHandler {
                    let now = try await ledger.time()
                    let batch = try await JobFilterOptions.batch(invocation, on: ledger)
                    var filter = try JobFilterOptions.filter(invocation, batch: batch, now: now)
                    filter.states = [.completed]
                    let check = OutputCheck(
                        ledger: ledger,
                        roots: roots,
                        remote: remote,
                        width: width,
                        isStopped: stopped
                    )
                    var kept: [CheckRepair.Item] = []
                    let tally = try await check.run(filter, report: { latest.value = $0 }) { finding in
                        _ = pending.change { $0.append(finding) }
                        if isKept { kept.append(CheckRepair.Item(finding)) }
                    }
                    return (tally, kept)
                } onCancel: {
                    stopped.value = true
                }
            }
            let result =
                try isKept
                ? LedgerWork.runOnDatabase(invocation, onTick: tick) { try await work($0) }
                : LedgerWork.run(invocation, onTick: tick, work)
            printPending()
            display.finish(progress(result.0))
            return result
        } catch {
            printPending()
            display.clear()
            throw error
        }
    }
}

/// The output of `check`.
struct CheckPage {
    let invocation: Invocation
    let console: CommandOutput
    let isJSON: Bool

    private struct Record: Encodable {
        let finding: OutputFinding.Kind
        let job: Int64
        let source: String
        let destination: String
        let detail: String?
        let isUnderWay: Bool
    }

    private struct End: Encodable {
        let checked: Int
        let bytes: Int64
        let fine: Int
        let missing: Int
        let size: Int
        let digest: Int
        let unreadable: Int
        let notAFile: Int
        let replaced: Int
        let busy: Int
        let notLookedAt: Int
    }

    /// Prints a finding at once. A closed pipe does not stop the check, because its exit code still counts.
    func show(_ finding: OutputFinding) {
        let line: String
        if isJSON {
            let record = Record(
                finding: finding.kind,
                job: finding.job,
                source: finding.source,
                destination: finding.destination,
                detail: finding.detail,
                isUnderWay: finding.isUnderWay
            )
            // Texts and numbers can always be encoded.
            line = (try? JSONText.line(record)) ?? ""
        } else {
            let detail = finding.detail.map { "   \($0)" } ?? ""
            let way = finding.isUnderWay ? "   a job for it is in progress" : ""
            let kind = finding.kind.rawValue.replacing("_", with: " ").padded(to: 11)
            line = "\(kind) \(finding.destination)   job \(finding.job)\(detail)\(way)".printable
        }
        do throws(Outlet.Failure) {
            try console.print(line)
        } catch {
            // The exit code still reports the result.
        }
    }

    /// `12,408 outputs checked, 1.9 TB: 12,405 unchanged, 2 missing, 1 with different content`
    func show(_ tally: OutputCheck.Tally) throws {
        let checked = tally.done - tally.unseen
        if isJSON {
            func count(_ kind: OutputFinding.Kind) -> Int { tally.found[kind] ?? 0 }
            let end = End(
                checked: checked,
                bytes: tally.bytes,
                fine: tally.fine,
                missing: count(.missing),
                size: count(.size),
                digest: count(.digest),
                unreadable: count(.unreadable),
                notAFile: count(.notAFile),
                replaced: tally.replaced,
                busy: tally.busy,
                notLookedAt: tally.unseen
            )
            try console.print(JSONText.line(end))
        } else {
            let parts = OutputFinding.Kind.allCases.compactMap { kind in
                tally.found[kind].map { ", \(Figures.grouped($0)) \(kind.words)" }
            }
            try console.print(
                "\(Figures.count(checked, "output")) checked, \(Figures.bytes(tally.bytes)): "
                    + "\(Figures.grouped(tally.fine)) unchanged" + parts.joined()
            )
        }
        remark(tally)
    }

    func remark(_ tally: OutputCheck.Tally) {
        if tally.busy > 0 {
            console.warn("\(Figures.count(tally.busy, "output")) being replaced by running jobs: not checked")
        }
        if tally.unseen > 0 {
            let roots = tally.unseenRoots.sorted().joined(separator: ", ").printable
            let those = Figures.subject(tally.unseen, "output")
            console.warn(
                "\(those) under roots that are not on this machine (\(roots)) and not checked; add --root NAME=PATH"
            )
        }
    }
}
