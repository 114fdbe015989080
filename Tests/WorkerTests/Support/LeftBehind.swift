import Conversion
import Foundation
import Ledger
import Publishing
import Storage
import TestSupport

/// What a worker leaves behind if it dies between the two transactions of publishing.
enum LeftBehind {
    /// Writes a file under the attempt's name beside the first destination of each job. Returns the
    /// publications to report to the ledger.
    static func publish(_ claims: [Claim], in folder: String) throws -> [Publication] {
        try claims.map { claim in
            let name = try Location(claim.recipe.outputs[0].location).name
            let file = try write(claim, name, in: folder)
            return Publication(
                claim.fence,
                attemptName: hidden(claim, name),
                digest: file.digest,
                bytes: file.bytes
            )
        }
    }

    /// The same for the other destinations of a job.
    static func further(of claim: Claim, in folder: String) throws -> [PublishedFile] {
        try claim.recipe.outputs.dropFirst().map { try write(claim, Location($0.location).name, in: folder) }
    }

    static func hidden(_ claim: Claim, _ name: String) -> String { AttemptName(claim.fence).fileName(for: name) }

    private static func write(_ claim: Claim, _ name: String, in folder: String) throws -> PublishedFile {
        let bytes = Array("the sound of job \(claim.fence.job) in \(name)".utf8)
        let path = "\(folder)/\(hidden(claim, name))"
        try Bytes.write(bytes, to: path)
        let sum = try Run.program("sha256sum", [path]).checked().outputText.prefix(64)
        return PublishedFile(digest: String(sum), bytes: Int64(bytes.count))
    }
}
