import API
import Conversion
import FoundationEssentials
import Ledger

/// How a filter of jobs, and a position in their list, are written for the API.
enum RemoteFilter {
    /// More would make the address of a request longer than servers take.
    static let idsInQuery = 200
    /// The API's limit for the filter of a change.
    static let idsInBody = 1_000

    static func members(_ filter: JobFilter) -> [String: JSONValue] {
        func words(_ words: [String]?) -> JSONValue? { words.map { .list($0.map { .text($0) }) } }
        let members: [String: JSONValue?] = [
            "id": filter.ids.map { .list($0.map { .whole($0) }) },
            "state": words(filter.states?.map(\.rawValue)),
            "batch": filter.batch.map { .whole($0) },
            "queue": filter.queue.map { .text($0) },
            "code": words(filter.codes),
            "class": words(filter.classes?.map(\.rawValue)),
            "stage": words(filter.stages),
            "source": filter.sourcePrefix.map { .text($0) },
            "sourceContains": filter.sourceContains.map { .text($0) },
            "since": filter.submittedFrom.map { .text(RemoteLedger.text($0)) },
            "until": filter.submittedBefore.map { .text(RemoteLedger.text($0)) },
            "endedSince": filter.endedFrom.map { .text(RemoteLedger.text($0)) },
            "endedUntil": filter.endedBefore.map { .text(RemoteLedger.text($0)) },
        ]
        return members.compactMapValues(\.self)
    }

    static func query(_ filter: JobFilter) -> [(name: String, value: String)] {
        func word(_ value: JSONValue) -> String { value.text ?? value.whole.map { "\($0)" } ?? "" }
        var query = members(filter).map { name, value in
            (name: name, value: value.items.map { $0.map(word).joined(separator: ",") } ?? word(value))
        }
        if filter.hasRemarks == true { query.append((name: "remarks", value: "true")) }
        return query
    }

    /// The same selection in parts with at most `count` ids each.
    static func parts(of filter: JobFilter, by count: Int) -> [JobFilter] {
        guard let ids = filter.ids, ids.count > count else { return [filter] }
        return stride(from: 0, to: ids.count, by: count).map { start in
            var part = filter
            part.ids = Array(ids[start..<min(start + count, ids.count)])
            return part
        }
    }

    // MARK: - Positions

    static func text(_ cursor: JobCursor) -> String {
        Data(cursor.text.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
    }

    static func cursor(_ text: String) -> JobCursor? {
        let padded =
            text.replacing("-", with: "+").replacing("_", with: "/")
            + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        guard let bytes = Data(base64Encoded: padded), let decoded = String(validating: bytes, as: UTF8.self) else {
            return nil
        }
        return JobCursor(text: decoded)
    }
}
