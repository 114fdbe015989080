import Foundation
import TestSupport
import Testing

@testable import Ledger

/// The metrics as text, in both formats.
struct OpenMetricsTextTests {
    private typealias Line = LedgerMetrics.Line

    private func text(_ lines: [LedgerMetrics.Line], _ syntax: OpenMetricsText.Syntax) -> [Substring] {
        OpenMetricsText(LedgerMetrics(lines), version: "1.2", libavcodec: "59.1", as: syntax).text
            .split(separator: "\n", omittingEmptySubsequences: false)
    }

    @Test func labelsAreEscaped() {
        let line = Line(meter: "oldest", queue: "a\"b\\c\nd", key: "", label: "", amount: 2.5)
        #expect(text([line], .prometheus).contains(#"sluice_oldest_waiting_seconds{queue="a\"b\\c\nd"} 2.5"#))
    }

    @Test func countersAreNamedAsEachFormatWantsThem() {
        let line = Line(meter: "failures", queue: nil, key: "truncated", label: "", amount: 3)
        let (old, new) = (text([line], .prometheus), text([line], .openMetrics))
        #expect(old.contains("# TYPE sluice_failures_total counter") && new.contains("# TYPE sluice_failures counter"))
        for page in [old, new] { #expect(page.contains(#"sluice_failures_total{code="truncated"} 3"#)) }
        #expect(new.contains("# UNIT sluice_bytes bytes") && !old.contains { $0.hasPrefix("# UNIT") })
        #expect(new.contains("# TYPE sluice_build info") && old.contains("# TYPE sluice_build_info gauge"))
        for page in [old, new] { #expect(page.contains(#"sluice_build_info{version="1.2",libavcodec="59.1"} 1"#)) }
    }

    @Test func onlyOpenMetricsHasAnEnd() {
        let end: ArraySlice<Substring> = text([], .openMetrics).suffix(2)
        #expect(end == ["# EOF", ""])
        #expect(!text([], .prometheus).contains("# EOF"))
    }

    @Test func bucketsOfAHistogramAddUp() {
        let page = text(
            [
                Line(meter: "run", queue: nil, key: "0", label: "", amount: 2),
                Line(meter: "run", queue: nil, key: "6", label: "", amount: 3),
                Line(meter: "run", queue: nil, key: "19", label: "", amount: 1),
                Line(meter: "run_seconds", queue: nil, key: "", label: "", amount: 30_000.5),
            ],
            .openMetrics
        )
        for line in [
            #"sluice_job_run_seconds_bucket{le="0.01"} 2"#, #"sluice_job_run_seconds_bucket{le="0.5"} 2"#,
            #"sluice_job_run_seconds_bucket{le="1.0"} 5"#, #"sluice_job_run_seconds_bucket{le="21600.0"} 5"#,
            #"sluice_job_run_seconds_bucket{le="+Inf"} 6"#, "sluice_job_run_seconds_sum 30000.5",
            "sluice_job_run_seconds_count 6",
        ] { #expect(page.contains(Substring(line)), "\(line)") }
    }

    /// A rate notices the first failure only if there was a zero before it.
    @Test func outcomesOfKnownQueuesStartAtZero() {
        let page = text([Line(meter: "jobs", queue: "q", key: "waiting", label: "", amount: 1)], .prometheus)
        #expect(page.contains(#"sluice_attempts_total{queue="q",outcome="failed",class="transient"} 0"#))
        #expect(page.contains("sluice_leases_lost_total 0"))
    }

    @Test func metersOfALaterReleaseAreLeftOut() {
        #expect(
            text([Line(meter: "novel", queue: nil, key: "", label: "", amount: 1)], .prometheus)
                == text([], .prometheus)
        )
    }

    @Test func thePageDescribesEveryMetric() throws {
        let url = URL(filePath: #filePath).appending(path: "../../../docs/metrics.md").standardizedFileURL
        let page = String(decoding: try Bytes.read(url.path), as: UTF8.self)
        let lines: [Substring] = page.split(separator: "\n")
        let rows: [String] = lines.filter { $0.hasPrefix("| `sluice_") }.map { String($0) }
        let families: [MetricFamily.Declaration] = MetricFamily.allCases.map(\.declaration)
        let declared: [String] = families.map { (family: MetricFamily.Declaration) -> String in
            let labels = family.labels.map { "`\($0)`" }.joined(separator: ", ")
            return "| `\(family.queryName)` | \(family.kind) | \(labels.isEmpty ? "-" : labels) | \(family.help) |"
        }
        #expect(rows == declared)
    }
}
