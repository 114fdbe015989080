import Conversion
import FoundationEssentials
package import Ledger

/// The status in JSON. Of what several workers tell, readers get the sums: they ask for the workers themselves.
extension StatusFacts: LedgerRecord {
    package static var blank: StatusFacts {
        StatusFacts(place: "", status: .blank, workers: WorkerCensus(.blank), unable: [], chores: [])
    }

    package static let fields: [RecordField<StatusFacts>] =
        [
            .maybe("context", \.context, .text, "the context of the command"),
            .always("ledger", \.place, .text, "where the ledger is"),
            .maybe("server", \.server, .text, "PostgreSQL's version"),
            count("workers", \.status.workers, "workers that are alive") { $0.alive },
            count("quietWorkers", \.status.quietWorkers, "workers that were asked to claim nothing") { $0.quiet },
            count("slots", \.status.slots, "of workers that are alive") { $0.slots },
            .derived("busySlots", .whole, isRequired: true, "slots that are converting") { $0.workers.busySlots },
            .derived("claimedJobs", .whole, "of the running jobs, those that no room converts yet") {
                $0.workers.claimed
            },
            .derived("workerStates", .map(.whole), isRequired: true, "how many workers are in each state") {
                $0.workers.byName
            },
        ]
        + LedgerStatus.fields.map { $0.of(\.status) }
        + [
            .derived(
                "fullFileSystems",
                .list(.record("FullFileSystemOfWorker", FullOfWorker.descriptions)),
                isRequired: true,
                "file systems without space, and the workers that report them"
            ) { $0.troubles.compactMap(FullOfWorker.init).map(JSONRecord.init) },
            .derived(
                "missingFileSystems",
                .list(.record("MissingFileSystemOfWorker", MissingOfWorker.descriptions)),
                isRequired: true,
                "file systems that are not mounted, and the workers that report them"
            ) { $0.troubles.compactMap(MissingOfWorker.init).map(JSONRecord.init) },
            .derived(
                "unwritableRoots",
                .list(.record("UnwritableRootOfWorker", DeniedToWorker.descriptions)),
                isRequired: true,
                "roots to which the user of a worker may not write, and the workers that report them"
            ) { $0.troubles.compactMap(DeniedToWorker.init).map(JSONRecord.init) },
            .maybe(
                "unsentDeliveries",
                \.unsent,
                .record("UnsentDeliveries"),
                "deliveries to webhooks that are due, while no coordinator sends any"
            ),
            .maybe(
                "version",
                \.version,
                .record("LedgerVersion"),
                "the version of the ledger beside that of the program that answers; tenants do not learn it"
            ),
            // Only while it is true, so that the answers of older coordinators, which lack it, can be read.
            .flag("mayNotResumeQueues", \.mayNotResumeQueues, "the caller may not resume a paused queue"),
            .derived("notes", .list(.text), isRequired: true, "what needs an operator's attention") {
                $0.notes.map(\.line)
            },
        ]

    /// A number of the census, which readers get as that of the ledger's summary.
    private static func count(
        _ name: String,
        _ path: any WritableKeyPath<StatusFacts, Int> & Sendable,
        _ meaning: String,
        _ number: @escaping @Sendable (WorkerCensus) -> Int
    ) -> RecordField<StatusFacts> {
        .special(
            name,
            .whole,
            isRequired: true,
            meaning,
            encode: { facts, encoder, key in try encoder.encode(number(facts.workers), forKey: key) },
            decode: { facts, decoder, key in facts[keyPath: path] = try decoder.count(key) }
        )
    }
}

/// What a worker reports of a file system or a root, and who reports it.
private protocol ReportOfStorage: DeclaredRecord {
    var trouble: WorkerTrouble { get }
    /// How long it had been so at the worker's last heartbeat.
    var seconds: Double { get }
}

extension ReportOfStorage {
    fileprivate static var origin: [RecordField<Self>] {
        [
            .derived("since", .moment, isRequired: true, "since when") {
                $0.trouble.toldAt.addingTimeInterval(-$0.seconds)
            },
            .derived("worker", .text, isRequired: true, "the name of the worker") { $0.trouble.worker },
            .derived("host", .text, isRequired: true, "its machine") { $0.trouble.host },
        ]
    }
}

private struct FullOfWorker: ReportOfStorage {
    let trouble: WorkerTrouble
    let full: FullFileSystem
    var seconds: Double { full.seconds }

    init?(_ trouble: WorkerTrouble) {
        guard case .full(let full) = trouble.kind else { return nil }
        (self.trouble, self.full) = (trouble, full)
    }

    static let fields: [RecordField<FullOfWorker>] =
        [
            .derived("mountPoint", .text, isRequired: true, "its path on the worker's machine") { $0.full.mountPoint },
            .derived("freeBytes", .whole, isRequired: true, "what is free") { $0.full.freeBytes },
        ] + origin
}

private struct MissingOfWorker: ReportOfStorage {
    let trouble: WorkerTrouble
    let missing: MissingFileSystem
    var seconds: Double { missing.seconds }

    init?(_ trouble: WorkerTrouble) {
        guard case .missing(let missing) = trouble.kind else { return nil }
        (self.trouble, self.missing) = (trouble, missing)
    }

    static let fields: [RecordField<MissingOfWorker>] =
        [
            .derived("mountPoint", .text, isRequired: true, "where it was mounted") { $0.missing.mountPoint },
            .derived("name", .text, isRequired: true, "its type and device") { $0.missing.name },
        ] + origin
}

private struct DeniedToWorker: ReportOfStorage {
    let trouble: WorkerTrouble
    let root: UnwritableRoot
    var seconds: Double { root.seconds }

    init?(_ trouble: WorkerTrouble) {
        guard case .denied(let root) = trouble.kind else { return nil }
        (self.trouble, self.root) = (trouble, root)
    }

    static let fields: [RecordField<DeniedToWorker>] =
        [
            .derived("name", .text, isRequired: true, "its name") { $0.root.name },
            .derived("path", .text, isRequired: true, "its path on the worker's machine") { $0.root.path },
            .derived("reason", .text, isRequired: true, "a code, and what the system said") { $0.root.reason },
        ] + origin
}
