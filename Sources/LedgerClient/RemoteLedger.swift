import API
import Conversion
import FoundationEssentials
import Ledger
import System
import WebClient

/// The ledger behind a coordinator's API.
///
/// Its answers have the values, and its errors the codes, that the ledger's database would give. What a coordinator
/// says is checked like the text of a stranger.
package struct RemoteLedger: CommandLedger {
    /// The most that a page of the API has.
    static let pageLimit: Int32 = 1_000

    let connection: CoordinatorConnection
    package let place: CoordinatorPlace

    package init(_ place: CoordinatorPlace) {
        self.place = place
        connection = CoordinatorConnection(place)
    }

    package func close() async {}

    // MARK: - Asking

    /// What may be done when an answer was lost.
    enum Repetition {
        /// Asks again: a second time changes nothing.
        case harmless
        /// Asks again, and then the counts of the answer are too low.
        case counted(Latest<Bool>)
        /// Asks again only if nothing can have arrived.
        case forbidden
    }

    /// The answer; `nil` if the API says that there is no such thing.
    ///
    /// Asks again while the coordinator is away, for as long as the ledger's database would be asked again.
    func find<Answer: Decodable & Sendable>(
        _ type: Answer.Type,
        _ request: CoordinatorConnection.Request,
        _ repetition: Repetition = .harmless
    ) async throws -> Answer? {
        guard let bytes = try await send(request, repetition) else { return nil }
        return try read(type, bytes, request)
    }

    func read<Answer: Decodable>(
        _ type: Answer.Type,
        _ bytes: [UInt8],
        _ request: CoordinatorConnection.Request
    ) throws -> Answer {
        do {
            return try JSONText.read(type, from: bytes)
        } catch {
            throw misfit(error, request)
        }
    }

    func send(_ request: CoordinatorConnection.Request, _ repetition: Repetition) async throws -> [UInt8]? {
        var request = request
        if case .harmless = repetition {} else { request.isSentOnce = true }
        // Counted from the first failure: a submission may take minutes before its connection breaks.
        var end: ContinuousClock.Instant?
        var mayHaveHappened = false
        var backOff = BackOff(first: .milliseconds(50), longest: .seconds(1))
        while true {
            do {
                return try await connection.send(request)
            } catch var error as LedgerError {
                // What an earlier try may have done is not undone by the failure of the last one.
                // A read changes nothing, whatever became of its answer.
                mayHaveHappened = mayHaveHappened || error.mayHaveHappened && request.method != "GET"
                error.mayHaveHappened = mayHaveHappened
                let limit = end ?? .now + place.reachTimeout
                end = limit
                guard error.isTransient, ContinuousClock.now < limit else { throw error }
                if mayHaveHappened, case .forbidden = repetition { throw error }
                if mayHaveHappened, case .counted(let isRepeated) = repetition { isRepeated.value = true }
                guard await backOff.wait() else { throw error }
            }
        }
    }

    /// The answer. Throws if the API says that there is no such thing.
    func ask<Answer: Decodable & Sendable>(
        _ type: Answer.Type,
        _ request: CoordinatorConnection.Request,
        _ repetition: Repetition = .harmless
    ) async throws -> Answer {
        guard let answer = try await find(type, request, repetition) else {
            throw LedgerError(.ledgerRefused, during: request.operation, "the ledger knows no such thing")
        }
        return answer
    }

    /// Records of a list that goes down by number, from the one behind `before` on; `limit` at most.
    func newestFirst<Record: LedgerRecord & ListedRecord>(
        _ path: String,
        _ query: [(name: String, value: String)],
        before: Int64?,
        limit: Int32,
        _ number: (Record) -> Int64,
        _ operation: String
    ) async throws -> [Record] {
        var (records, before): ([Record], Int64?) = ([], before)
        while records.count < Int(limit) {
            var query = query
            query.append(("limit", "\(min(Self.pageLimit, limit - Int32(records.count)))"))
            if let before { query.append(("before", "\(before)")) }
            let page = try await ask(RecordPage<Record>.self, .init(path: path, query: query, operation: operation))
            records += page.records.prefix(Int(limit) - records.count)
            // The list goes down, so that no answer can keep this from ending.
            guard page.next != nil, let last = page.records.last.map(number), last < before ?? .max else { break }
            before = last
        }
        return records
    }

    private func misfit(_ error: any Error, _ request: CoordinatorConnection.Request) -> LedgerError {
        func path(_ keys: [any CodingKey]) -> String {
            keys.map { "/" + ($0.intValue.map { "\($0)" } ?? $0.stringValue) }.joined()
        }
        let what =
            switch error as? DecodingError {
            case .keyNotFound(let key, let context)?: "\(path(context.codingPath + [key])) is missing"
            case .typeMismatch(_, let context)?, .valueNotFound(_, let context)?:
                "\(path(context.codingPath)) has the wrong type"
            case .dataCorrupted(let context)? where !context.codingPath.isEmpty:
                "\(path(context.codingPath)) \(context.debugDescription)"
            default: "it is not JSON"
            }
        return LedgerError(
            .coordinatorUnexpectedAnswer,
            during: request.operation,
            "the answer of the coordinator at \(place.url) cannot be read: \(String(what.prefix(500)))"
        )
    }

    static func text(_ date: Date) -> String { date.formatted(.iso8601WithMilliseconds) }
}
