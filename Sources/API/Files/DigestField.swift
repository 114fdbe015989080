import FoundationEssentials
import HTTPServer

/// The digests of a body, as RFC 9530 writes them: `sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:`.
package enum DigestField {
    /// The SHA-256 in a field; `nil` if the field holds only digests of other kinds. Throws if the field cannot be read.
    package static func sha256(in field: String) throws(Problem) -> [UInt8]? {
        var found: [UInt8]?
        for member in field.split(separator: ",", omittingEmptySubsequences: false) {
            let member = member.trimmingSpaces
            guard let sign = member.utf8.firstIndex(of: UInt8(ascii: "=")) else { throw unreadable }
            let value = member[member.index(after: sign)...]
            guard value.utf8.count >= 2, value.utf8.first == UInt8(ascii: ":"), value.utf8.last == UInt8(ascii: ":")
            else { throw unreadable }
            // Of several members with one name, the last one counts.
            guard member[..<sign] == "sha-256" else { continue }
            guard let bytes = Data(base64Encoded: String(value.dropFirst().dropLast())), bytes.count == 32 else {
                throw unreadable
            }
            found = Array(bytes)
        }
        return found
    }

    /// The field for a SHA-256.
    package static func text(_ sha256: [UInt8]) -> String { "sha-256=:\(Data(sha256).base64EncodedString()):" }

    private static var unreadable: Problem {
        Problem(.badParameter, "a digest must be written as in \"Content-Digest: sha-256=:BASE64:\"")
    }
}
