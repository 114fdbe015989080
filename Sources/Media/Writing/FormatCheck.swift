import Conversion

/// Checks that a resolved format is one that the format table allows: a caller may have built it by hand.
enum FormatCheck {
    /// Throws `format_refused` with every reason. A copy is checked later, once its packets are known.
    static func check(_ format: ResolvedFormat) throws {
        guard format.codec != .copy else { return }
        let rule = FormatTable.rule(format.container, format.codec)
        let depth = rule?.depths.first { $0.bits == format.bitDepth && $0.kind == format.sampleKind }
        let storesSamples = rule?.depths.isEmpty == false
        let wish = AudioFormat(
            container: format.container,
            codec: format.codec,
            sampleRateHz: format.sampleRateHz,
            channelCount: format.channelCount,
            layout: format.layout.isDiscrete ? nil : format.layout,
            bitDepth: storesSamples ? format.bitDepth : nil,
            sampleKind: storesSamples ? format.sampleKind : nil,
            dither: storesSamples ? format.dither : nil,
            endianness: depth?.endiannesses.isEmpty == false ? format.endianness : nil,
            bitRate: format.bitRate,
            quality: format.quality
        )
        let source = AudioShape(
            sampleRateHz: format.sampleRateHz,
            channelCount: format.channelCount,
            layout: format.layout,
            bitDepth: format.bitDepth,
            sampleKind: format.sampleKind,
            codecName: "",
            isLossless: true
        )
        do {
            _ = try wish.resolved(for: source)
        } catch {
            throw MediaError(
                .formatRefused,
                at: .open,
                error.description,
                hint: error.reasons.compactMap(\.hint).first
            )
        }
    }
}
