/// Reads server-sent events as they arrive. Keeps only the name and the number of an event, so that a stranger's event
/// of any length takes no memory.
struct EventReader: Sendable {
    /// What some bytes contained.
    struct Finding: Sendable, Hashable {
        /// Events by which a coordinator tells of a change.
        var changes = 0
        /// Whether there was a whole line of such a stream, at least a sign of life.
        var isAlive = false
    }

    /// A line may be as long as this; a queue, a batch or a job is much shorter.
    static let longestLine = 4 << 20
    /// What is kept of a line. The fields that count are short.
    private static let kept = 256
    private static let names: Set<String> = ["batch", "job", "queue", "resync"]

    /// The number of the last event that had one.
    private(set) var lastID: String?
    private var line: [UInt8] = []
    private var length = 0
    private var endedWithReturn = false
    private var name = ""
    private var hasData = false

    /// Returns `nil` if a line has no end.
    mutating func take(_ bytes: UnsafeRawBufferPointer) -> Finding? {
        var finding = Finding()
        var rest = bytes[...]
        while !rest.isEmpty {
            let end = rest.firstIndex { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") } ?? rest.endIndex
            let piece = rest[rest.startIndex..<end]
            length += piece.count
            guard length <= Self.longestLine else { return nil }
            line += piece.prefix(Self.kept - line.count)
            guard end < rest.endIndex else {
                if !piece.isEmpty { endedWithReturn = false }
                break
            }
            let isSecondOfTwo = rest[end] == UInt8(ascii: "\n") && endedWithReturn && length == 0
            endedWithReturn = rest[end] == UInt8(ascii: "\r")
            if !isSecondOfTwo { take(line, &finding) }
            (line, length) = ([], 0)
            rest = rest[(end + 1)...]
        }
        return finding
    }

    private mutating func take(_ line: [UInt8], _ finding: inout Finding) {
        guard let first = line.first else {
            if hasData, Self.names.contains(name) {
                finding.changes += 1
                finding.isAlive = true
            }
            (name, hasData) = ("", false)
            return
        }
        guard first != UInt8(ascii: ":") else {
            finding.isAlive = true
            return
        }
        let field = String(decoding: line.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self)
        var value = line.dropFirst(field.utf8.count + 1)
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch field {
        case "data": hasData = true
        case "event": name = String(decoding: value, as: UTF8.self)
        // It goes into a header of the next request.
        case "id" where value.count <= 100 && value.allSatisfy { $0 > 0x20 && $0 < 0x7F }:
            lastID = value.isEmpty ? nil : String(decoding: value, as: UTF8.self)
        default: break
        }
    }
}
