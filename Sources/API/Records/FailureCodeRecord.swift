package import Conversion
package import Ledger

/// A code of the catalogue.
package struct FailureCodeRecord: ListedRecord {
    package let code: FailureCode

    package init(_ code: FailureCode) { self.code = code }

    package static let listName = "codes"
    package static let fields: [RecordField<FailureCodeRecord>] = [
        .derived("code", .text, isRequired: true, "the code") { $0.code },
        .derived(
            "class",
            .choice(Failure.Kind.allCases.map(\.rawValue)),
            isRequired: true,
            "whether another attempt can succeed"
        ) { $0.code.entry.kind },
        .derived(
            "stages",
            .list(.choice(Failure.Stage.allCases.map(\.rawValue))),
            isRequired: true,
            "the parts of the work in which it happens"
        ) { $0.code.entry.stages },
        .derived("meaning", .text, isRequired: true, "what it means") { $0.code.entry.meaning.unmarked },
        .derived("cause", .text, isRequired: true, "what may have caused it") { $0.code.entry.cause.unmarked },
        .derived("advice", .text, "what to do") { $0.code.entry.advice?.unmarked },
        .derived("exitCode", .whole, isRequired: true, "of commands") { $0.code.entry.exitCode },
    ]
}

extension String {
    /// The text without the backquotes that Markdown pages show as code.
    package var unmarked: String { replacing("`", with: "") }
}
