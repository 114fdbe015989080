import Console
import Conversion
import Ledger
import Storage

/// Compares files with what the ledger recorded about them.
enum OutputReading {
    /// SHA-256, in hexadecimal, of the file at `path`; `nil` if it cannot be read or `isWanted` turns false.
    static func digest(of path: String, _ isWanted: () -> Bool) -> String? {
        // A file that cannot be opened or read has no digest, whatever the reason.
        guard let file = try? SourceFile.open(path) else { return nil }
        return (try? file.fingerprint(while: isWanted))??.hexDigest
    }

    /// The result of examining one output.
    enum Look: Sendable, Hashable {
        case fine
        /// Its root is not on this machine.
        case unseen
        /// The caller has stopped waiting for the result.
        case unwanted
        case damaged(OutputFinding.Kind, detail: String?)
    }

    /// Compares the file at `path` with its record: the length first and, if that matches, the content.
    static func look(at path: String, bytes: Int64, digest: String, _ isWanted: () -> Bool) -> Look {
        guard let facts = FileFacts.of(path: path, followingLinks: false) else {
            return FileFacts.isMissing ? .damaged(.missing, detail: nil) : .damaged(.unreadable, detail: nil)
        }
        guard facts.kind == .file else { return .damaged(.notAFile, detail: "it is a \(facts.kind.rawValue)") }
        guard facts.byteCount == bytes else {
            return .damaged(.size, detail: "\(Figures.grouped(facts.byteCount)) of \(Figures.count(bytes, "byte"))")
        }
        do {
            let file = try SourceFile.open(path)
            guard let found = try file.fingerprint(while: isWanted) else { return .unwanted }
            return found.hexDigest == digest ? .fine : .damaged(.digest, detail: nil)
        } catch {
            return .damaged(.unreadable, detail: Failure(of: error).message)
        }
    }
}

/// An output that is not as it was written.
struct OutputFinding: Sendable {
    enum Kind: String, Sendable, CaseIterable, Encodable {
        case missing, size, digest, unreadable
        case notAFile = "not_a_file"

        /// Whether another output can take its place.
        var canBeRepaired: Bool { self != .unreadable && self != .notAFile }

        /// `3 missing`
        var words: String {
            switch self {
            case .missing: "missing"
            case .size: "with a different size"
            case .digest: "with different content"
            case .unreadable: "unreadable"
            case .notAFile: "not files"
            }
        }
    }

    /// The job that made the recorded output.
    let job: Int64
    let source: String
    let destination: String
    let kind: Kind
    let detail: String?
    /// Whether a job that has not ended will write this destination again.
    let isUnderWay: Bool
}
