import Conversion

/// One pair of container and codec; the property names are the JSON keys.
package struct FormatRecord: Encodable {
    package let container: String
    package let extensions: [String]
    package let codec: String
    package let read: Bool
    package let write: Bool
    package let gapless: Bool
    package let lossless: Bool

    package func isCalled(_ name: String) -> Bool { container == name || codec == name || extensions.contains(name) }

    /// Pairs that can be written, in the order of the table, then pairs that can only be read.
    package static let all: [FormatRecord] =
        FormatTable.rules.sorted { first, second in
            let order = Container.allCases
            return order.firstIndex(of: first.container)! < order.firstIndex(of: second.container)!
        }.map { rule in
            FormatRecord(
                container: rule.container.rawValue,
                extensions: rule.container.fileExtensions,
                codec: rule.codec.rawValue,
                read: true,
                write: true,
                gapless: rule.gapless == .exact,
                lossless: rule.isLossless
            )
        }
        + ReadableFormats.readOnly.map { format in
            FormatRecord(
                container: format.container,
                extensions: format.extensions,
                codec: format.codec,
                read: true,
                write: false,
                gapless: format.isGapless,
                lossless: format.isLossless
            )
        }
}
