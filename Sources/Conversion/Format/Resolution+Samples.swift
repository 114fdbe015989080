extension Resolution {
    mutating func settleDepth(_ rule: FormatRule) -> SampleDepth {
        guard !rule.depths.isEmpty else {
            if let bits = wish.bitDepth {
                refuse("depth", "\(bits)", "\(rule.codec.title) stores no samples", allowed: "none")
            }
            if let kind = wish.sampleKind {
                refuse("kind", kind.rawValue, "\(rule.codec.title) stores no samples", allowed: "none")
            }
            if let dither = wish.dither {
                refuse("dither", dither.rawValue, "\(rule.codec.title) stores no samples", allowed: "none")
            }
            return SampleDepth(32, .float)
        }
        let fitting = rule.depths.filter {
            (wish.bitDepth == nil || $0.bits == wish.bitDepth) && (wish.sampleKind == nil || $0.kind == wish.sampleKind)
        }
        if fitting.isEmpty {
            let value = [wish.bitDepth.map { "\($0)-bit" }, wish.sampleKind?.rawValue].compactMap { $0 }
            refuse(
                wish.bitDepth == nil ? "kind" : "depth",
                value.joined(separator: " "),
                "\(rule.codec.title) in \(rule.container.title) does not support it",
                allowed: rule.depths.map(\.title).joined(separator: ", ")
            )
            return rule.depths[0]
        }
        // A float has 24 significant bits. An integer must hold that many to replace it, and the reverse.
        let kinds = fitting.filter { $0.kind == source.sampleKind }
        if !kinds.isEmpty { return smallest(kinds, holding: source.effectiveBitDepth) }
        let needed = source.sampleKind == .float ? 24 : source.effectiveBitDepth <= 24 ? 32 : 64
        return smallest(fitting, holding: needed)
    }

    private func smallest(_ depths: [SampleDepth], holding bits: Int) -> SampleDepth {
        let ordered = depths.sorted { $0.bits < $1.bits }
        return ordered.first { $0.bits >= bits } ?? ordered[ordered.count - 1]
    }

    /// Noise is shaped only at rates for which there is a filter.
    mutating func checkDither(_ rule: FormatRule, sampleRateHz: Int) {
        guard wish.dither == .shaped, !rule.depths.isEmpty, !Dither.shapedRates.contains(sampleRateHz) else { return }
        refuse(
            "dither",
            Dither.shaped.rawValue,
            "noise is shaped only at 44.1 and 48 kHz, and the output has \(sampleRateHz) Hz",
            allowed: "tpdf, none"
        )
    }

    mutating func settleEndianness(_ rule: FormatRule, _ depth: SampleDepth) -> Endianness {
        guard let order = wish.endianness else { return depth.endiannesses.first ?? .little }
        let title = rule.container.title
        if rule.endiannesses.isEmpty {
            refuse("endian", order.rawValue, "\(rule.codec.title) has no byte order to choose", allowed: "none")
        } else if !rule.endiannesses.contains(order) {
            refuse(order, for: depth, "\(title) is", allowed: rule.endiannesses)
        } else if !depth.endiannesses.isEmpty, !depth.endiannesses.contains(order) {
            refuse(order, for: depth, "\(depth.title) in \(title) is", allowed: depth.endiannesses)
        }
        return depth.endiannesses.isEmpty ? .little : order
    }

    private mutating func refuse(
        _ order: Endianness,
        for depth: SampleDepth,
        _ subject: String,
        allowed: [Endianness]
    ) {
        let takers = FormatTable.rules.filter { rule in
            rule.codec == .pcm
                && rule.depths.contains {
                    $0.bits == depth.bits && $0.kind == depth.kind && $0.endiannesses.contains(order)
                }
        }
        let names = takers.map(\.container.title).joined(separator: ", ")
        let only = allowed.map(\.rawValue).joined(separator: ", ")
        refuse(
            "endian",
            order.rawValue,
            "\(subject) \(only)-endian",
            allowed: only,
            hint: names.isEmpty ? nil : "for \(order.rawValue)-endian \(depth.title) PCM use \(names)"
        )
    }
}
