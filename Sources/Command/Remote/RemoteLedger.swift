import Console
import Conversion
import FoundationEssentials
import Ledger
import Records
import System
import WebClient

/// The ledger behind a coordinator's API.
///
/// Its answers have the values, and its errors the codes, that the ledger's database would give. What a coordinator
/// says is checked like the text of a stranger.
struct RemoteLedger: CommandLedger {
    private let connection: CoordinatorConnection
    let place: CoordinatorPlace

    init(_ place: CoordinatorPlace) {
        self.place = place
        connection = CoordinatorConnection(place)
    }

    func close() async {}

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

/// An item of the API's lists.
protocol RemoteItem: Decodable, Sendable {
    /// The name of the member that has the list.
    static var listName: String { get }
}

extension JobRecord: RemoteItem { static var listName: String { "jobs" } }
extension BatchRecord: RemoteItem { static var listName: String { "batches" } }
extension FailureGroupRecord: RemoteItem { static var listName: String { "failures" } }
extension QueueRecord: RemoteItem { static var listName: String { "queues" } }
extension WorkerRecord: RemoteItem { static var listName: String { "workers" } }
extension UnableRecord: RemoteItem { static var listName: String { "unable" } }
extension HoldRecord: RemoteItem { static var listName: String { "holds" } }
extension ChoreStateRecord: RemoteItem { static var listName: String { "chores" } }
extension ThroughputRecord: RemoteItem { static var listName: String { "throughput" } }
extension BulkChangeRecord: RemoteItem { static var listName: String { "changes" } }
extension WebhookRecord: RemoteItem { static var listName: String { "webhooks" } }
extension DeliveryRecord: RemoteItem { static var listName: String { "deliveries" } }
extension Optional: RemoteItem where Wrapped == EarlierRecord { static var listName: String { "earlier" } }

/// A list of an answer under its name, and where it continues.
struct RemotePage<Item: RemoteItem>: Decodable, Sendable {
    let items: [Item]
    let next: String?

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(_ name: String) { stringValue = name }
        init?(stringValue: String) { self.init(stringValue) }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        let page = try decoder.container(keyedBy: Key.self)
        items = try page.decode([Item].self, forKey: Key(Item.listName))
        next = try page.decodeIfPresent(String.self, forKey: Key("next"))
    }
}
