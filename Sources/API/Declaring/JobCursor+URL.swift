import Conversion
import FoundationEssentials
package import Ledger

extension JobCursor {
    /// The position as clients see it: text for a query without escapes.
    package var urlText: String {
        Data(text.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
    }

    /// Reads a `urlText`.
    package init(urlText text: String) throws(Problem) {
        let padded =
            text.replacing("-", with: "+").replacing("_", with: "/")
            + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        guard let bytes = Data(base64Encoded: padded), let json = JSONValue(json: Array(bytes)), json.members != nil,
            let decoded = String(validating: bytes, as: UTF8.self)
        else {
            throw Problem(.badParameter, mistakes: [.init(pointer: "after", detail: "is not the \"next\" of a page")])
        }
        self.init(text: decoded)
    }
}
