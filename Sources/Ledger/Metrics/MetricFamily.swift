/// The metrics that a ledger has, in the order of the page. docs/metrics.md lists the same.
public enum MetricFamily: Sendable, Hashable, CaseIterable {
    case jobs
    case oldestWaiting
    case publishPending
    case jobWait
    case jobRun
    case attempts
    case failures
    case sourceSeconds
    case bytes
    case slots
    case workers
    case pausedRoots
    case leasesLost
    case roomsEnded
    case webhookDeliveries
    case unsentDeliveries
    case snapshotAge
    case deadRows
    case housekeeping
    case build

    /// How a monitoring system reads the values.
    public enum Kind: String, Sendable, Hashable {
        case gauge
        case counter
        case histogram
        case info
    }

    /// What is known of a family before any value is.
    public struct Declaration: Sendable, Hashable {
        /// Without the suffix that its kind adds: `sluice_attempts`.
        public var name: String
        public var kind: Kind
        /// The base unit, with which the name ends; `nil` for numbers of things.
        public var unit: String?
        public var labels: [String]
        /// One sentence without a full stop.
        public var help: String

        /// The name under which a query finds it: `sluice_attempts_total`, and for a histogram the name without suffix.
        public var queryName: String {
            switch kind {
            case .counter: name + "_total"
            case .info: name + "_info"
            case .gauge, .histogram: name
            }
        }
    }

    /// Its name, kind, labels and meaning.
    public var declaration: Declaration {
        switch self {
        case .jobs: gauge("jobs", ["queue", "state"], "Jobs that the ledger keeps, by their state")
        case .oldestWaiting:
            gauge(
                "oldest_waiting_seconds",
                ["queue"],
                "How long the oldest waiting job has waited, 0 if none waits"
            )
        case .publishPending:
            gauge("publish_pending", [], "Jobs whose outputs are complete and do not have their final names yet")
        case .jobWait:
            histogram("job_wait_seconds", "How long each claimed job had waited since it could run")
        case .jobRun:
            histogram("job_run_seconds", "How long each completed attempt took, from its claim to its end")
        case .attempts:
            counter("attempts", ["queue", "outcome", "class"], "Attempts that ended, by outcome and class of failure")
        case .failures: counter("failures", ["code"], "Attempts that failed or were lost, by code of failure")
        case .sourceSeconds:
            counter("source_seconds", ["codec"], "Audio converted by completed attempts, by codec of the output")
        case .bytes: counter("bytes", ["direction"], "Bytes of published outputs")
        case .slots: gauge("slots", ["state"], "Slots of all running workers")
        case .workers: gauge("workers", ["state"], "Running workers")
        case .pausedRoots:
            gauge("paused_roots", ["root"], "Running workers that cannot work in a root, or may not write there")
        case .leasesLost:
            counter("leases_lost", [], "Workers that the ledger declared lost, because they sent no heartbeat")
        case .roomsEnded:
            counter("rooms_ended", ["reason"], "Rooms that died while they converted a job, by code of the failure")
        case .webhookDeliveries:
            counter("webhook_deliveries", ["outcome"], "Attempts to send an event to a webhook, by what became of it")
        case .unsentDeliveries:
            gauge(
                "webhook_deliveries_unsent",
                [],
                "Deliveries to webhooks that are due while no coordinator sends any, up to 10000"
            )
        case .snapshotAge:
            gauge(
                "ledger_xmin_age_seconds",
                [],
                "Age of the oldest transaction that keeps dead rows from being removed"
            )
        case .deadRows: gauge("ledger_dead_rows", ["table"], "Dead rows in the tables that change most")
        case .housekeeping: gauge("housekeeping_timestamp_seconds", [], "When housekeeping last ran")
        case .build:
            Declaration(
                name: "sluice_build",
                kind: .info,
                labels: ["version", "libavcodec"],
                help: "The program that wrote this page"
            )
        }
    }

    private func gauge(_ name: String, _ labels: [String], _ help: String) -> Declaration {
        declared(name, .gauge, labels, help)
    }

    private func counter(_ name: String, _ labels: [String], _ help: String) -> Declaration {
        declared(name, .counter, labels, help)
    }

    private func histogram(_ name: String, _ help: String) -> Declaration { declared(name, .histogram, [], help) }

    private func declared(_ name: String, _ kind: Kind, _ labels: [String], _ help: String) -> Declaration {
        let unit = ["seconds", "bytes"].first { name.hasSuffix($0) }
        return Declaration(name: "sluice_" + name, kind: kind, unit: unit, labels: labels, help: help)
    }
}
