import API
import Conversion
package import Ledger
import System
import WebClient

extension RemoteLedger {
    private static let json = WebRequest.Header("Content-Type", "application/json")

    /// A request with a JSON object as its body.
    func post(_ path: String, _ members: [String: JSONValue], _ operation: String) throws
        -> CoordinatorConnection.Request
    {
        let text = try JSONText.line(JSONValue.object(members))
        return .init(
            method: "POST",
            path: path,
            headers: [Self.json],
            body: .bytes(Array(text.utf8)),
            operation: operation
        )
    }

    // MARK: - Jobs

    package func prospect(of change: JobChange, matching filter: JobFilter) async throws -> (jobs: Int, publishing: Int)
    {
        var (jobs, publishing) = (0, 0)
        for part in RemoteFilter.parts(of: filter, by: RemoteFilter.idsInBody) {
            var members = try Self.members(change, part)
            members["preview"] = .truth(true)
            let found = try await ask(JSONRecord<ChangeRecord>.self, post("/api/v1/changes", members, "count jobs"))
                .record
            jobs += found.jobs
            publishing += found.tally.publishing
        }
        return (jobs, publishing)
    }

    package func apply(_ change: JobChange, to filter: JobFilter, report: @escaping @Sendable (ChangeTally) -> Void)
        async throws -> ChangeTally
    {
        var tally = ChangeTally()
        for part in RemoteFilter.parts(of: filter, by: RemoteFilter.idsInBody) {
            var after: String?
            var emptyParts = 0
            repeat {
                var members = try Self.members(change, part)
                members["limit"] = .whole(1_000)
                members["after"] = after.map { .text($0) }
                let isRepeated = Latest(false)
                let done = try await ask(
                    JSONRecord<ChangeRecord>.self,
                    post("/api/v1/changes", members, change.operation),
                    .counted(isRepeated)
                ).record
                emptyParts = done.jobs + done.tally.publishing == 0 ? emptyParts + 1 : 0
                try check(done, behind: after, emptyParts: emptyParts, during: change.operation)
                var part = done.tally
                part.seen = done.jobs
                tally.add(part)
                tally.isLowerBound = tally.isLowerBound || isRepeated.value
                after = done.next
                report(tally)
            } while after != nil
        }
        return tally
    }

    /// Throws if a part is larger than was asked for, or gets nowhere: a coordinator must not keep the command going for
    /// ever. Parts in which no job matches are possible, but each of them has looked at thousands of jobs.
    private func check(
        _ part: ChangeRecord,
        behind after: String?,
        emptyParts: Int,
        during operation: String
    ) throws {
        let isPossible = [part.jobs, part.tally.changed, part.tally.asked, part.tally.publishing].allSatisfy {
            $0 <= 1_000
        }
        guard isPossible, part.next == nil || part.next != after, emptyParts <= 100_000 else {
            throw LedgerError(
                .coordinatorUnexpectedAnswer,
                during: operation,
                "the coordinator at \(place.url) reports a part of the change that cannot be"
            )
        }
    }

    private static func members(_ change: JobChange, _ filter: JobFilter) throws -> [String: JSONValue] {
        var members: [String: JSONValue] = ["filter": .object(RemoteFilter.members(filter))]
        members.merge(try JSONText.members(JSONRecord(change))) { $1 }
        return members
    }

    // MARK: - Queues and workers

    private func change(_ queue: String, _ members: [String: JSONValue], _ operation: String) async throws {
        let path = "/api/v1/queues/\(CoordinatorConnection.escaped(queue))"
        _ = try await ask(JSONRecord<QueueSummary>.self, post(path, members, operation))
    }

    package func setPaused(_ isPaused: Bool, queue: String) async throws {
        try await change(queue, ["isPaused": .truth(isPaused)], "pause a queue")
    }

    package func setRunningLimit(_ limit: Int32?, queue: String) async throws {
        try await change(queue, ["runningLimit": .whole(Int64(limit ?? 0))], "limit a queue")
    }

    package func setWeight(_ weight: Int32, queue: String, submitter: String?) async throws {
        var members: [String: JSONValue] = ["weight": .whole(Int64(weight))]
        members["submitter"] = submitter.map { .text($0) }
        let operation = submitter == nil ? "set the weight of a queue" : "set the weight of a submitter"
        try await change(queue, members, operation)
    }

    package func wish(_ wish: WorkerWish, of worker: Int64) async throws -> Bool {
        let request = try post(
            "/api/v1/workers/\(worker)",
            ["wish": .text(wish.rawValue)],
            "send a request to a worker"
        )
        return try await find(JSONRecord<WorkerRecord>.self, request) != nil
    }
}
