import Foundation
import TestSupport

/// What the server did for a call, including all statements in its functions, as reported by auto_explain.
struct Explained {
    struct Node: Decodable {
        let kind: String
        /// The table or partition.
        let relation: String?
        let index: String?
        private let rows: Double
        private let loops: Double
        /// Whether the step ran at all.
        var isRun: Bool { loops > 0 }
        private let filtered: Double?
        private let unmatched: Double?
        private let hit: Int?
        private let read: Int?
        private let parts: [Node]?

        private enum CodingKeys: String, CodingKey {
            case kind = "Node Type"
            case relation = "Relation Name"
            case index = "Index Name"
            case rows = "Actual Rows"
            case loops = "Actual Loops"
            case filtered = "Rows Removed by Filter"
            case unmatched = "Rows Removed by Join Filter"
            case hit = "Shared Hit Blocks"
            case read = "Shared Read Blocks"
            case parts = "Plans"
        }

        /// The rows that it read, including those that a filter removed.
        var rowsSeen: Int { Int((rows + (filtered ?? 0)) * loops) }
        /// The pairs that it compared without a match. A plain nested loop compares every row of one side with
        /// every row of the other.
        var pairsSeen: Int { Int((unmatched ?? 0) * loops) }
        /// The pages that it and all steps below it touched.
        var blocks: Int { (hit ?? 0) + (read ?? 0) }
        /// This step and all below it.
        var all: [Node] { [self] + (parts ?? []).flatMap(\.all) }
    }

    private struct Statement: Decodable {
        let text: String
        let plan: Node

        private enum CodingKeys: String, CodingKey {
            case text = "Query Text"
            case plan = "Plan"
        }
    }

    /// The steps of every statement of the call, including those within functions.
    let nodes: [Node]
    /// The pages that the whole call touched.
    let blocks: Int

    /// Explains each of `calls`. They run after `preparation`, in one session and one transaction that is rolled back.
    static func calls(
        _ calls: [String],
        after preparation: [String] = [],
        in database: String,
        on server: PrivatePostgres
    ) throws -> [Explained] {
        let text = try server.messages(
            of: [
                """
                load 'auto_explain'; set auto_explain.log_min_duration = 0;
                set auto_explain.log_analyze = on; set auto_explain.log_timing = off;
                set auto_explain.log_buffers = on; set auto_explain.log_format = json;
                set auto_explain.log_nested_statements = on;
                """, "begin",
            ] + preparation + ["set client_min_messages = log"] + calls + ["rollback"],
            database: database
        )
        var found: [Explained] = []
        var nodes: [Node] = []
        // The plan of a call follows those of the statements within it.
        for piece in text.components(separatedBy: "LOG:  duration:").dropFirst() {
            guard let start = piece.firstIndex(of: "{"), let end = piece.lastIndex(of: "}") else {
                throw SupportError("read a plan", piece)
            }
            let statement = try JSONDecoder().decode(Statement.self, from: Data(piece[start...end].utf8))
            nodes += statement.plan.all
            guard calls.contains(statement.text) else { continue }
            found.append(Explained(nodes: nodes, blocks: statement.plan.blocks))
            nodes = []
        }
        guard found.count == calls.count else {
            throw SupportError("explain \(calls.count) calls", "\(found.count) plans came")
        }
        return found
    }
}

/// Indexes that must be used. Names are those of the partitions without their numbers.
struct PlanGuard {
    /// Indexes that have to be used; a partition's is named like that of a partition without number.
    var indexes: Set<String> = []
    /// The most rows that one step may read in a large table, and the most pairs that it may compare without a match.
    var rowLimit = 2_000
    /// Tables that may be scanned completely.
    var scanned: Set<String> = []

    /// Tables that grow with the number of jobs, waiting or done.
    private static let large: Set<String> = [
        "job", "finished", "attempt", "batch", "waiting", "delayed", "running", "publishing",
    ]

    /// The rules that a call violated, as text.
    func violations(in call: Explained) -> [String] {
        var words: [String] = []
        var used: Set<String> = []
        for node in call.nodes where node.isRun {
            if node.pairsSeen > rowLimit { words.append("\(node.kind) compares \(node.pairsSeen) pairs in vain") }
            if let index = node.index { used.insert(Self.plain(index)) }
            guard let relation = node.relation.map(Self.plain), Self.large.contains(relation) else { continue }
            guard !scanned.contains(relation) else { continue }
            if node.kind == "Seq Scan" { words.append("\(relation) is read from end to end") }
            if node.rowsSeen > rowLimit { words.append("\(node.kind) looks at \(node.rowsSeen) rows of \(relation)") }
        }
        return words + indexes.subtracting(used).sorted().map { "\($0) is not used" }
    }

    /// A partition's name without its number.
    private static func plain(_ name: String) -> String {
        name.replacing(/_[0-9]+(?=_|$)/, with: "")
    }
}
