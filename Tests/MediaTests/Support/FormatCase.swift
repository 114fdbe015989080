import Conversion
import Media
import TestSupport
import Testing

/// One row of the format table at one rate, depth and layout: a format that can be written.
struct FormatCase: CustomTestStringConvertible, CustomStringConvertible, Sendable {
    let rule: FormatRule
    var rate: Int
    var depth: SampleDepth?
    var endianness: Endianness?
    var layout: ChannelLayout

    var format: AudioFormat {
        AudioFormat(
            container: rule.container,
            codec: rule.codec,
            sampleRateHz: rate,
            layout: layout,
            bitDepth: depth?.bits,
            sampleKind: depth?.kind,
            endianness: endianness
        )
    }

    var testDescription: String { description }

    var description: String {
        let order = endianness.map { $0 == .big ? "be" : "le" } ?? ""
        let samples = depth.map { " \($0.kind == .float ? "f" : "s")\($0.bits)\(order)" } ?? ""
        return "\(rule.container)/\(rule.codec) \(rate) Hz \(layout)\(samples)"
    }

    /// The source's sample format: as deep as the output's, so that lossless means bit-exact.
    var sourceFormat: PCM.SampleFormat {
        guard let depth, rule.isLossless else { return .s16 }
        switch (depth.kind, depth.bits) {
        case (.float, 64): return .f64
        case (.float, _): return .f32
        case (_, 8): return .u8
        case (_, 16): return .s16
        case (_, 24): return .s24
        default: return .s32
        }
    }

    /// Every depth and byte order of `rule`, at one rate and in one layout.
    static func depths(of rule: FormatRule, rate: Int, layout: ChannelLayout) -> [FormatCase] {
        guard !rule.depths.isEmpty else { return [FormatCase(rule: rule, rate: rate, layout: layout)] }
        return rule.depths.flatMap { depth in
            let orders: [Endianness?] = depth.endiannesses.isEmpty ? [nil] : depth.endiannesses
            return orders.map { FormatCase(rule: rule, rate: rate, depth: depth, endianness: $0, layout: layout) }
        }
    }
}

/// One row of the format table, with a name for the list of tests.
struct FormatRow: CustomTestStringConvertible, Sendable {
    let rule: FormatRule

    var testDescription: String { "\(rule.container)/\(rule.codec)" }

    static let all = FormatTable.rules.map(FormatRow.init)
}
