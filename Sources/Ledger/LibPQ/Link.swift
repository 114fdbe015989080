import CLibPQ
import Dispatch

/// One connection of libpq's, closed when the last reference goes.
final class Link {
    let pointer: OpaquePointer
    /// The server's warnings that were not taken yet. Notices of less weight are dropped.
    fileprivate(set) var warnings: [String] = []

    private static let mostWarnings = 100

    /// Takes `pointer` over. libpq then prints nothing that the server says.
    init(adopting pointer: OpaquePointer) {
        self.pointer = pointer
        // The link is there for as long as libpq's connection.
        PQsetNoticeReceiver(pointer, Self.hear, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { PQfinish(pointer) }

    private static let hear: PQnoticeReceiver = { place, report in
        guard let place, let report, let severity = PQresultErrorField(report, Int32(UInt8(ascii: "V"))),
            String(cString: severity) == "WARNING", let text = PQresultErrorField(report, Int32(UInt8(ascii: "M")))
        else { return }
        let link = Unmanaged<Link>.fromOpaque(place).takeUnretainedValue()
        let hint = PQresultErrorField(report, Int32(UInt8(ascii: "H"))).map { "; " + String(cString: $0) } ?? ""
        guard link.warnings.count < mostWarnings else { return }
        link.warnings.append(String(cString: text) + hint)
    }

    /// The warnings since they were last taken.
    func takeWarnings() -> [String] {
        defer { warnings = [] }
        return warnings
    }

    /// libpq's last message about this connection.
    var message: String { String(cString: PQerrorMessage(pointer)) }

    var isBroken: Bool { PQstatus(pointer) == CONNECTION_BAD }

    /// Whether a statement begun now would be a transaction of its own.
    var isOutsideTransaction: Bool { PQtransactionStatus(pointer) == PQTRANS_IDLE }

    /// Asks the server, over a connection of its own, to end the statement that runs. False if that is not possible.
    ///
    /// libpq before 17 sends such a request in the clear whatever `sslmode` says, so over TLS it is not made.
    func requestCancel() -> Bool {
        guard PQsslInUse(pointer) == 0, let request = PQgetCancel(pointer) else { return false }
        let owned = CancelRequest(adopting: request)
        // It blocks for as long as the network takes.
        Link.cancelling.async { owned.send() }
        return true
    }

    private static let cancelling = DispatchQueue(label: "sluice.ledger.cancel", attributes: .concurrent)
}

/// A request to end a statement, independent of its connection.
///
/// Unchecked: libpq never changes it after it was made, and allows its use on any thread; only `send` reads it.
private final class CancelRequest: @unchecked Sendable {
    private let pointer: OpaquePointer

    init(adopting pointer: OpaquePointer) { self.pointer = pointer }

    deinit { PQfreeCancel(pointer) }

    func send() {
        var message = [CChar](repeating: 0, count: 256)
        // If it does not arrive, the caller's own time limit ends the statement.
        _ = PQcancel(pointer, &message, Int32(message.count))
    }
}

/// One answer of the server, freed when the last reference goes.
final class Answer {
    let pointer: OpaquePointer

    /// Takes `pointer` over.
    init(adopting pointer: OpaquePointer) { self.pointer = pointer }

    deinit { PQclear(pointer) }

    var status: ExecStatusType { PQresultStatus(pointer) }

    var rowCount: Int { Int(PQntuples(pointer)) }

    /// What the statement did, as the server says: `COMMIT`, `UPDATE 3`.
    var tag: String { String(cString: PQcmdStatus(pointer)) }

    /// How many rows the statement changed or gave.
    var affectedRows: Int { Int(String(cString: PQcmdTuples(pointer))) ?? 0 }

    /// One field of an error's report.
    func field(_ code: Int32) -> String? { PQresultErrorField(pointer, code).map { String(cString: $0) } }

    /// The columns by name; of several with one name the first.
    private(set) lazy var columns: [String: Int] = {
        let names = (0..<PQnfields(pointer)).map { String(cString: PQfname(pointer, $0)) }
        return Dictionary(zip(names, names.indices)) { first, _ in first }
    }()
}
