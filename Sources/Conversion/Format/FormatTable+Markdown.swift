extension FormatTable {
    /// The table as `docs/formats.md` shows it. Codecs with the same limits in a container share a row.
    public static var markdown: String {
        var lines = [
            "| container | codec | sample rate, Hz | channels | samples | bit rate or quality | length | notes |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        for container in Container.allCases {
            let extensions = container.fileExtensions.map { ".\($0)" }.joined(separator: ", ")
            var rows: [(codecs: [String], cells: String)] = []
            for rule in rules where rule.container == container {
                let cells = cells(of: rule).joined(separator: " | ")
                if let same = rows.firstIndex(where: { $0.cells == cells }) {
                    rows[same].codecs.append(rule.codec.title)
                } else {
                    rows.append(([rule.codec.title], cells))
                }
            }
            for row in rows {
                lines.append(
                    "| \(container.title) (\(extensions)) | \(row.codecs.joined(separator: ", ")) | \(row.cells) |"
                )
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func cells(of rule: FormatRule) -> [String] {
        [
            rule.rates.title, channels(rule), samples(rule), effort(rule), length(rule),
            rule.note ?? "",
        ]
    }

    private static func channels(_ rule: FormatRule) -> String {
        rule.layouts.map { $0.map(\.description).joined(separator: ", ") }
            ?? "\(rule.channels.lowerBound) to \(rule.channels.upperBound)"
    }

    /// Depths with the same byte orders share a clause.
    private static func samples(_ rule: FormatRule) -> String {
        guard !rule.depths.isEmpty else { return "lossy" }
        var clauses: [(orders: [Endianness], depths: [String])] = []
        for depth in rule.depths {
            let short = (depth.kind == .float ? "f" : "") + "\(depth.bits)"
            if let same = clauses.firstIndex(where: { $0.orders == depth.endiannesses }) {
                clauses[same].depths.append(short)
            } else {
                clauses.append((depth.endiannesses, [short]))
            }
        }
        return clauses.map { clause in
            let orders = clause.orders.isEmpty ? "" : " " + clause.orders.map(\.rawValue).joined(separator: " or ")
            return clause.depths.joined(separator: ", ") + orders
        }.joined(separator: "; ")
    }

    private static func effort(_ rule: FormatRule) -> String {
        let quality = rule.quality.map { "quality \(plain($0.lowerBound)) to \(plain($0.upperBound))" }
        let bitRates: String?
        switch rule.bitRates {
        case .none: bitRates = nil
        case .mp3: bitRates = "a rate of MPEG-1 (32k to 320k), MPEG-2 (8k to 160k) or MPEG-2.5 (8k to 64k)"
        case .perFrame(let minimum, let bits, let samples):
            bitRates = "from \(minimum), at most \(bits) bits per channel in \(samples) frames"
        case .perChannel(let minimum, let maximum): bitRates = "\(minimum) to \(maximum) times channels"
        }
        return [quality, bitRates].compactMap { $0 }.joined(separator: "; ")
    }

    private static func length(_ rule: FormatRule) -> String {
        let exactness: String
        switch rule.gapless {
        case .exact: exactness = "exact"
        case .lost(let reason): exactness = "not exact: \(reason)"
        }
        return rule.maximumBytes == nil ? exactness : exactness + ", at most 4 GB"
    }

    private static func plain(_ number: Double) -> String {
        number == number.rounded() ? "\(Int(number))" : "\(number)"
    }
}

extension Preset {
    /// All presets as `docs/formats.md` shows them.
    public static var markdown: String {
        let lines = all.map { "| `\($0.name)` | \($0.summary) |" }
        return (["| preset | what it makes |", "| --- | --- |"] + lines).joined(separator: "\n") + "\n"
    }
}
