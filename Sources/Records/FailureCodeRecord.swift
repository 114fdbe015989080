package import Conversion

/// The JSON form of a code of the catalogue.
package struct FailureCodeRecord: Encodable {
    package let code: FailureCode
    package let kind: Failure.Kind
    package let stages: [Failure.Stage]
    package let meaning: String
    package let cause: String
    package let advice: String?
    package let exitCode: Int32

    package init(_ code: FailureCode) {
        let entry = code.entry
        (self.code, kind, stages) = (code, entry.kind, entry.stages)
        (meaning, cause) = (entry.meaning.unmarked, entry.cause.unmarked)
        (advice, exitCode) = (entry.advice?.unmarked, entry.exitCode)
    }

    private enum CodingKeys: String, CodingKey {
        case code, kind = "class", stages, meaning, cause, advice, exitCode
    }
}

extension String {
    /// The text without the backquotes that Markdown pages show as code.
    package var unmarked: String { replacing("`", with: "") }
}
