import Conversion
import Foundation
import Ledger
import Publishing
import Storage
import TestSupport

/// What a worker leaves behind if it dies between the two transactions of publishing.
enum LeftBehind {
    /// Writes a file under the attempt's name beside each job's destination. Returns the
    /// publications to report to the ledger.
    static func publish(_ claims: [Claim], in folder: String) throws -> [Publication] {
        try claims.map { claim in
            let bytes = Array("the sound of job \(claim.fence.job)".utf8)
            let name = try Location(claim.recipe.outputs[0].location).name
            let hidden = AttemptName(claim.fence).fileName(for: name)
            try Bytes.write(bytes, to: "\(folder)/\(hidden)")
            let sum = try Run.program("sha256sum", ["\(folder)/\(hidden)"]).checked().outputText.prefix(64)
            return Publication(claim.fence, attemptName: hidden, digest: String(sum), bytes: Int64(bytes.count))
        }
    }
}
