import API
import Conversion
import FoundationEssentials
import Glibc
package import Ledger
import System
import WebClient

extension RemoteLedger {
    // MARK: - Earlier jobs

    /// The most destinations of a request, and their bytes together. The API takes bodies of 8 MiB.
    private static let (mostDestinations, mostBytes) = (20_000, 4 << 20)

    package func earlierJobs(at destinations: some RandomAccessCollection<String> & Sendable, digests: Bool)
        async throws
        -> EarlierJobList
    {
        var found = try await earlier(destinations, digests)
        guard Self.end(of: destinations, from: 0) < destinations.count else { return found }
        // More than one request holds: what was submitted meanwhile may be known to the later ones only. Two equal
        // submissions must see each other wholly or not at all, so all is read again until it stays the same.
        for _ in 0..<10 {
            let again = try await earlier(destinations, digests)
            // Jobs advance all the time. Only another job makes another submission.
            if again.elementsEqual(found, by: { $0?.job == $1?.job }) { return again }
            found = again
        }
        throw LedgerError(
            .ledgerContention,
            during: "find earlier jobs",
            "other submissions for the same destinations do not end",
            hint: "try again when they have ended"
        )
    }

    private func earlier(
        _ destinations: some RandomAccessCollection<String> & Sendable,
        _ digests: Bool
    ) async throws -> EarlierJobList {
        var found = EarlierJobList(count: destinations.count)
        var start = 0
        while start < destinations.count {
            let end = Self.end(of: destinations, from: start)
            let part = Array(destinations.dropFirst(start).prefix(end - start))
            var request = try post(
                "/api/v1/earlier",
                ["destinations": .list(part.map { .text($0) }), "digests": .truth(digests)],
                "find earlier jobs"
            )
            request.timeLimit = .seconds(300)
            let answer = try await ask(EarlierJobs.self, request).earlier
            guard answer.count == part.count else {
                throw LedgerError(
                    .coordinatorUnexpectedAnswer,
                    during: "find earlier jobs",
                    "the coordinator at \(place.url) answered for \(answer.count) of \(part.count) destinations"
                )
            }
            for (place, job) in answer.enumerated() { if let job { found.set(job.record, at: start + place) } }
            start = end
        }
        return found
    }

    /// Each request sees another moment. What ends meanwhile is at worst scanned once more.
    package func earlierScans(of sources: [String]) async throws -> [EarlierScan?] {
        var found: [EarlierScan?] = []
        found.reserveCapacity(sources.count)
        while found.count < sources.count {
            let part = sources[found.count..<Self.end(of: sources, from: found.count)]
            var request = try post(
                "/api/v1/scans",
                ["sources": .list(part.map { .text($0) })],
                "find earlier scans"
            )
            request.timeLimit = .seconds(300)
            let answer = try await ask(EarlierScans.self, request).scans
            guard answer.count == part.count else {
                throw LedgerError(
                    .coordinatorUnexpectedAnswer,
                    during: "find earlier scans",
                    "the coordinator at \(place.url) answered for \(answer.count) of \(part.count) sources"
                )
            }
            found += answer.map { $0?.record }
        }
        return found
    }

    /// Where the request ends that begins with the destination at `start`.
    private static func end(of destinations: some RandomAccessCollection<String>, from start: Int) -> Int {
        var (end, bytes) = (start, 0)
        for destination in destinations.dropFirst(start).prefix(mostDestinations) {
            // With its quotes and comma; escapes are few.
            bytes += destination.utf8.count + 3
            if bytes > mostBytes, end > start { break }
            end += 1
        }
        return end
    }

    // MARK: - Submitting

    package func ownLimits() async throws -> (tenant: String, limits: TenantLimits)? {
        let request = CoordinatorConnection.Request(path: "/api/v1/tenant", operation: "show the tenant")
        return try await find(JSONRecord<Tenant>.self, request).map { ($0.record.name, $0.record.limits) }
    }

    /// As long as the ledger's database may take.
    private static let submissionLimit: Duration = .seconds(900)

    package func preview(_ submission: Submission, all jobs: some Sequence<JobRequest> & Sendable) async throws -> Int {
        try await send(submission, jobs, to: "/api/v1/previews", for: JSONRecord<CountRecord>.self).record.jobs
    }

    package func submit(_ submission: Submission, all jobs: some Sequence<JobRequest> & Sendable) async throws
        -> SubmissionReceipt
    {
        do {
            return try await send(submission, jobs, to: "/api/v1/batches", for: JSONRecord<SubmissionReceipt>.self)
                .record
        } catch let error as LedgerError where error.code == .ledgerConflict && submission.key != nil {
            // The key belongs to another request: say which batch that is.
            guard var standing = try await receipt(forKey: submission.key ?? "") else { throw error }
            standing.isSameRequest = false
            return standing
        }
    }

    private func send<Answer: Decodable & Sendable>(
        _ submission: Submission,
        _ jobs: some Sequence<JobRequest> & Sendable,
        to path: String,
        for answer: Answer.Type
    ) async throws -> Answer {
        let spool = try RequestSpool(jobs)
        var query = [
            ("queue", submission.queue), ("priority", "\(submission.priority)"), ("weight", "\(submission.weight)"),
            // By this the coordinator knows a repetition whose answer was lost.
            ("attempt", UUID().uuidString),
        ]
        if let label = submission.label { query.append(("name", label)) }
        if !submission.notify.isEmpty { query.append(("notify", submission.notify.joined(separator: ","))) }
        if submission.sourcesSkipped > 0 { query.append(("sourcesSkipped", "\(submission.sourcesSkipped)")) }
        if let attempts = submission.maxAttempts { query.append(("maxAttempts", "\(attempts)")) }
        if let date = submission.runAt { query.append(("runAt", Self.text(date))) }
        if let request = submission.request { query.append(("request", request)) }
        var headers = [WebRequest.Header("Content-Type", "application/x-ndjson")]
        if let key = submission.key {
            try Self.check(key)
            headers.append(.init("Idempotency-Key", key))
        }
        let request = CoordinatorConnection.Request(
            method: "POST",
            path: path,
            query: query,
            headers: headers,
            body: .file(descriptor: spool.file.number, length: spool.length),
            timeLimit: Self.submissionLimit,
            operation: "submit jobs"
        )
        defer { withExtendedLifetime(spool) {} }
        return try await ask(answer, request)
    }

    /// Keys are sent in a header, where other text would be changed or refused on the way.
    private static func check(_ key: String) throws {
        guard key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), key.utf8.count <= 1_000 else {
            throw LedgerError(
                .ledgerRefused,
                during: "submit jobs",
                "over HTTP, a key has up to 1,000 printable characters of ASCII, without spaces"
            )
        }
    }
}

/// Jobs as JSON Lines in a file without a name, so that memory holds only some.
private struct RequestSpool: Sendable {
    let file: SharedDescriptor
    let length: Int64

    /// Throws a `SpoolError` if the file cannot be written, and the ledger's error for a job that cannot be.
    init(_ jobs: some Sequence<JobRequest>) throws {
        file = try Self.unnamedFile()
        var writer = RequestLines()
        var (buffer, length): ([UInt8], Int64) = ([], 0)
        for (number, job) in jobs.enumerated() {
            do {
                buffer += try writer.line(job).utf8
            } catch {
                throw LedgerError(.ledgerRefused, during: "submit jobs", "job \(number + 1): \(error)")
            }
            buffer.append(UInt8(ascii: "\n"))
            if buffer.count >= 256 << 10 {
                try Self.write(buffer, to: file)
                length += Int64(buffer.count)
                buffer.removeAll(keepingCapacity: true)
            }
        }
        try Self.write(buffer, to: file)
        self.length = length + Int64(buffer.count)
    }

    private static func unnamedFile() throws(SpoolError) -> SharedDescriptor {
        // As mktemp(1): TMPDIR, or else the folder that every system has.
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? ""
        let pattern = (folder.hasPrefix("/") ? folder : "/tmp") + "/sluice-submit-XXXXXX"
        var path = Array(pattern.utf8CString)
        let number = mkstemp(&path)
        guard number >= 0 else { throw refusal(errno, pattern) }
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        unlink(path)
        return SharedDescriptor(adopting: number)
    }

    private static func write(_ bytes: [UInt8], to file: SharedDescriptor) throws(SpoolError) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { Glibc.write(file.number, $0.baseAddress! + sent, $0.count - sent) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw refusal(errno, "a temporary file") }
            sent += count
        }
    }

    private static func refusal(_ number: Int32, _ place: String) -> SpoolError {
        SpoolError(
            message: "cannot write the jobs to \(place.plain): \(String(cString: strerror(number)))",
            hint: "TMPDIR names another folder for temporary files"
        )
    }
}

/// Why the jobs of a submission cannot be collected in a temporary file.
package struct SpoolError: Error, Sendable {
    package let message: String
    package let hint: String
}
