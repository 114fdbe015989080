import HTTPServer
import Ledger

/// What Prometheus scrapes.
enum MetricsOperation {
    static func value(version: String, libavcodec: String) -> Operation {
        Operation(
            name: "getMetrics",
            method: .get,
            path: "/metrics",
            summary: "the metrics of the ledger, for Prometheus; OpenMetrics for those that accept it",
            access: .roles([.viewer, .operator]),
            answerType: OpenMetricsText.Syntax.prometheus.contentType,
            isForTenants: false
        ) { call in
            let accepted = call.head.field("accept") ?? ""
            let syntax: OpenMetricsText.Syntax =
                accepted.contains("application/openmetrics-text") ? .openMetrics : .prometheus
            let metrics = try await call.ledger.metrics()
            let page = OpenMetricsText(metrics, version: version, libavcodec: libavcodec, as: syntax)
            return .text(page.text, as: syntax.contentType)
        }
    }
}
