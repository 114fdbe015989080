/// The metrics of a ledger as text, for a monitoring system.
public struct OpenMetricsText: Sendable, Hashable {
    /// How the text is written.
    public enum Syntax: Sendable, Hashable, CaseIterable {
        /// Prometheus' text format 0.0.4.
        case prometheus
        /// OpenMetrics 1.0.
        case openMetrics

        /// The media type of an HTTP response with the text.
        public var contentType: String {
            switch self {
            case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
            case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
        }
    }

    public let text: String

    /// `version` and `libavcodec` are those of this program.
    public init(_ metrics: LedgerMetrics, version: String, libavcodec: String, as syntax: Syntax) {
        var page = Page(syntax: syntax)
        for family in MetricFamily.allCases {
            let declaration = family.declaration
            if family == .build {
                page.open(declaration)
                page.add(declaration.queryName, declaration.labels, [version, libavcodec], 1)
            } else if let histogram = metrics.histograms[family] {
                page.open(declaration)
                page.add(histogram, declaration.name)
            } else if let samples = metrics.samples[family] {
                page.open(declaration)
                for sample in samples {
                    page.add(declaration.queryName, declaration.labels, sample.labels, sample.value)
                }
            }
        }
        if syntax == .openMetrics { page.text += "# EOF\n" }
        text = page.text
    }

    private struct Page {
        let syntax: Syntax
        var text = ""

        mutating func open(_ family: MetricFamily.Declaration) {
            let isOpen = syntax == .openMetrics
            // The older format has no type for facts, and names a counter with its suffix.
            let name = isOpen ? family.name : family.queryName
            let kind = !isOpen && family.kind == .info ? MetricFamily.Kind.gauge : family.kind
            text += "# TYPE \(name) \(kind.rawValue)\n"
            if isOpen, let unit = family.unit { text += "# UNIT \(name) \(unit)\n" }
            text += "# HELP \(name) \(family.help)\n"
        }

        mutating func add(_ name: String, _ labels: [String], _ values: [String], _ value: Double) {
            text += name
            if !labels.isEmpty {
                let pairs = zip(labels, values).map { "\($0)=\"\(Self.escaped($1))\"" }
                text += "{" + pairs.joined(separator: ",") + "}"
            }
            text += " \(Self.number(value))\n"
        }

        mutating func add(_ histogram: SpanHistogram, _ name: String) {
            for (limit, count) in histogram.cumulative { add(name + "_bucket", ["le"], ["\(limit)"], count) }
            add(name + "_bucket", ["le"], ["+Inf"], histogram.count)
            add(name + "_sum", [], [], histogram.seconds)
            add(name + "_count", [], [], histogram.count)
        }

        /// Whole numbers without a fraction.
        static func number(_ value: Double) -> String {
            Int64(exactly: value).map { "\($0)" } ?? "\(value)"
        }

        static func escaped(_ text: String) -> String {
            var escaped = ""
            for scalar in text.unicodeScalars {
                switch scalar {
                case "\\": escaped += "\\\\"
                case "\"": escaped += "\\\""
                case "\n": escaped += "\\n"
                default: escaped.unicodeScalars.append(scalar)
                }
            }
            return escaped
        }
    }
}
