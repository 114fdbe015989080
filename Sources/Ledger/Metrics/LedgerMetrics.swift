/// The metrics of a ledger at one moment.
///
/// Counters only ever grow, whatever happens to the jobs that they counted.
public struct LedgerMetrics: Sendable, Hashable {
    /// One value of a family.
    public struct Sample: Sendable, Hashable {
        /// The values of the family's labels, in the order of its declaration.
        public var labels: [String]
        public var value: Double
    }

    /// The values of each family, sorted by their labels. A family without values has no figures now.
    public private(set) var samples: [MetricFamily: [Sample]] = [:]
    public private(set) var histograms: [MetricFamily: SpanHistogram] = [.jobWait: .init(), .jobRun: .init()]

    /// One row of `ledger_metrics()`.
    struct Line {
        var meter: String
        var queue: String?
        var key: String
        var label: String
        var amount: Double
    }

    init(_ lines: [Line]) {
        var values: [MetricFamily: [[String]: Double]] = [
            .publishPending: [[]: 0], .leasesLost: [[]: 0], .bytes: [["out"]: 0],
            .webhookDeliveries: [["delivered"]: 0, ["failed"]: 0, ["dead"]: 0],
        ]
        // A rate notices the first event only if there was a value before it.
        for line in lines where line.meter == "jobs" {
            for (outcome, label) in Self.outcomes {
                values[.attempts, default: [:]][[line.queue ?? "", outcome, label]] = 0
            }
        }
        for line in lines {
            let queue = line.queue ?? ""
            func add(_ family: MetricFamily, _ labels: [String], _ value: Double? = nil) {
                values[family, default: [:]][labels, default: 0] += value ?? line.amount
            }
            switch line.meter {
            case "jobs":
                add(.jobs, [queue, line.key])
                if line.key == JobState.publishing.rawValue { add(.publishPending, []) }
            case "oldest": add(.oldestWaiting, [queue])
            case "attempts": add(.attempts, [queue, line.key, line.label])
            case "failures": add(.failures, [line.key])
            case "audio_ms": add(.sourceSeconds, [line.key], line.amount / 1_000)
            case "bytes": add(.bytes, [line.key])
            case "slots": add(.slots, [line.key])
            case "workers": add(.workers, [line.key])
            case "paused_roots": add(.pausedRoots, [line.key])
            case "leases_lost": add(.leasesLost, [])
            case "rooms": add(.roomsEnded, [line.key])
            case "webhook_deliveries": add(.webhookDeliveries, [line.key])
            case "unsent": add(.unsentDeliveries, [])
            case "snapshot_age": add(.snapshotAge, [])
            case "dead_rows": add(.deadRows, [line.key])
            case "housekeeping": add(.housekeeping, [])
            case "wait": count(line, in: .jobWait)
            case "run": count(line, in: .jobRun)
            case "wait_seconds": histograms[.jobWait]?.seconds += line.amount
            case "run_seconds": histograms[.jobRun]?.seconds += line.amount
            // A ledger of a later release may have more.
            default: break
            }
        }
        samples = values.mapValues { family in
            family.map { Sample(labels: $0.key, value: $0.value) }
                .sorted { $0.labels.lexicographicallyPrecedes($1.labels) }
        }
    }

    /// The value of a family with these labels; `nil` if there is none.
    public subscript(_ family: MetricFamily, _ labels: String...) -> Double? {
        samples[family]?.first { $0.labels == labels }?.value
    }

    private mutating func count(_ line: Line, in family: MetricFamily) {
        guard let bucket = Int(line.key), 0...SpanHistogram.limits.count ~= bucket else { return }
        histograms[family]?.counts[bucket] += line.amount
    }

    /// The outcomes and classes that an attempt can end with.
    private static let outcomes = [
        ("completed", ""), ("cancelled", ""), ("failed", "permanent"), ("failed", "transient"),
        ("failed", "infrastructure"), ("lost", "infrastructure"), ("released", "infrastructure"),
    ]
}
