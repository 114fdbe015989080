import Conversion
package import Ledger

/// One pair of container and codec.
package struct FormatRecord: ListedRecord {
    package let container: String
    package let extensions: [String]
    package let codec: String
    package let read: Bool
    package let write: Bool
    package let gapless: Bool
    package let lossless: Bool

    package static let listName = "formats"
    package static let fields: [RecordField<FormatRecord>] = [
        .derived("container", .text, isRequired: true, "the container") { $0.container },
        .derived("extensions", .list(.text), isRequired: true, "of names of files") { $0.extensions },
        .derived("codec", .text, isRequired: true, "the codec") { $0.codec },
        .derived("read", .truth, isRequired: true, "whether sources may have it") { $0.read },
        .derived("write", .truth, isRequired: true, "whether outputs may have it") { $0.write },
        .derived("gapless", .truth, isRequired: true, "whether the exact length survives") { $0.gapless },
        .derived("lossless", .truth, isRequired: true, "whether every sample survives") { $0.lossless },
    ]

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
