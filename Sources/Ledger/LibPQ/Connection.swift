import CLibPQ
import Conversion
import Glibc
import System

/// One connection to PostgreSQL. One task uses it at a time.
///
/// `run` takes the work as a closure that does not suspend, so nothing else in this process can run between the
/// statements of a transaction. The server keeps nothing between two runs: no prepared statement, no setting, no
/// lock. So PgBouncer may give each transaction another server connection.
actor Connection {
    private nonisolated let executor = QueueExecutor("sluice.ledger.connection")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private nonisolated let interruption: Interruption
    let address: Address
    private var link: Link?

    /// The purpose of the current run, for its errors.
    private(set) var operation = "connect"
    private var ticket: Interruption.Ticket = 0
    private var deadline = ContinuousClock.now
    /// Why the current run must end. Once set, the running statement has been cancelled.
    private var reasonToEnd: FailureCode?
    /// Whether the running statement changes something for good.
    private(set) var isFinalChange = false
    /// Set when the connection must not be used again.
    private var isSpent = false
    /// Whom the current run acts for: SQL that begins each of its transactions.
    private(set) var opening: TransactionOpening?

    /// How long a cancelled statement may take to end before the connection is closed.
    private let grace: Duration

    /// Opens nothing; `connect` does. Throws `exhausted` if the process has too many open files.
    init(to address: Address, cancelGrace: Duration) throws {
        self.address = address
        grace = cancelGrace
        interruption = try Interruption()
    }

    // MARK: - Runs

    /// Runs `body`, within `limit`. With an `opening`, each transaction of the run begins with it, and so does each
    /// statement outside a transaction.
    ///
    /// If the task is cancelled or the time is over, the server cancels the running statement. If that statement
    /// completes all the same, it counts as done and only the rest of the run throws. An open transaction is rolled
    /// back.
    @discardableResult
    nonisolated func run<Result: Sendable>(
        _ operation: String,
        within limit: Duration,
        opening: TransactionOpening? = nil,
        _ body: @Sendable (isolated Connection) throws -> Result
    ) async throws -> Result {
        let deadline = ContinuousClock.now + limit
        let ticket = interruption.take()
        defer { interruption.drop(ticket) }
        return try await withTaskCancellationHandler {
            try await perform(operation, ticket, deadline, opening, body)
        } onCancel: {
            interruption.raise(ticket)
        }
    }

    /// The result of lending the connection for one run.
    enum Loan<Result: Sendable>: Sendable {
        /// The run is over. Says whether another may begin, as far as this process knows.
        case over(Swift.Result<Result, any Error>, isUsable: Bool)
        /// The connection cannot be used any more, and the run has not begun.
        case refused
    }

    /// Like `run`, for a connection pool: with `ifUsable` looks first whether a run may begin.
    ///
    /// Goes to the connection's thread once, because each time wakes that thread, and a thread of the caller afterwards.
    nonisolated func lend<Result: Sendable>(
        _ operation: String,
        within limit: Duration,
        opening: TransactionOpening?,
        ifUsable: Bool,
        _ body: @Sendable (isolated Connection) throws -> Result
    ) async -> Loan<Result> {
        let deadline = ContinuousClock.now + limit
        let ticket = interruption.take()
        defer { interruption.drop(ticket) }
        return await withTaskCancellationHandler {
            await performLoan(operation, ticket, deadline, opening, ifUsable: ifUsable, body)
        } onCancel: {
            interruption.raise(ticket)
        }
    }

    private func performLoan<Result: Sendable>(
        _ operation: String,
        _ ticket: Interruption.Ticket,
        _ deadline: ContinuousClock.Instant,
        _ opening: TransactionOpening?,
        ifUsable: Bool,
        _ body: @Sendable (isolated Connection) throws -> Result
    ) -> Loan<Result> {
        guard !ifUsable || isUsable else { return .refused }
        let result = Swift.Result { try perform(operation, ticket, deadline, opening, body) }
        // The next loan asks the server's socket.
        return .over(result, isUsable: isReady)
    }

    private func perform<Result: Sendable>(
        _ operation: String,
        _ ticket: Interruption.Ticket,
        _ deadline: ContinuousClock.Instant,
        _ opening: TransactionOpening?,
        _ body: @Sendable (isolated Connection) throws -> Result
    ) throws -> Result {
        self.operation = operation
        self.ticket = ticket
        self.deadline = deadline
        self.opening = opening
        reasonToEnd = nil
        interruption.begin(ticket)
        defer { interruption.end() }
        defer { endRun() }
        return try body(self)
    }

    /// Cleans up, so that the next run finds nothing of this one.
    private func endRun() {
        guard let link else { return }
        // A cancellation still under way would hit the next statement.
        if isSpent || reasonToEnd != nil || link.isBroken { return close() }
        if !link.isOutsideTransaction {
            do { try script("rollback", changes: false) } catch { close() }
        }
        while let notice = PQnotifies(link.pointer) { PQfreemem(notice) }
        _ = link.takeWarnings()
    }

    /// Whether the connection is open and in no transaction, as far as libpq knows.
    private var isReady: Bool {
        guard let link, !isSpent else { return false }
        return !link.isBroken && link.isOutsideTransaction
    }

    /// Whether another run may begin: ready, and not closed by the server meanwhile.
    private var isUsable: Bool {
        guard isReady, let link, takeWhatCame(link) else { return false }
        _ = PQisBusy(link.pointer)  // parses the input, so that notices do not pile up
        return !link.isBroken
    }

    /// Reads what the server sent between two statements; false if it has closed the connection.
    private func takeWhatCame(_ link: Link) -> Bool {
        var socket = pollfd(fd: PQsocket(link.pointer), events: Int16(POLLIN), revents: 0)
        while poll(&socket, 1, 0) > 0 {
            guard PQconsumeInput(link.pointer) == 1 else { return false }
        }
        return true
    }

    /// Throws if the server is gone. While libpq only sends, it does not report that.
    func checkIsThere(_ link: Link) throws {
        guard takeWhatCame(link), !link.isBroken else { throw failure(.ledgerConnectionLost, link.message) }
    }

    /// The server's warnings in this run so far, each with its hint.
    func takeWarnings() -> [String] { link?.takeWarnings() ?? [] }

    /// Closes the connection. An open transaction is rolled back.
    func close() {
        isSpent = true
        link = nil
    }

    /// Closes the connection after this run, because what follows needs another server or other rights.
    func retire() { isSpent = true }

    // MARK: - Connecting

    /// Connects to the first server of the address that matches it. `hostLimit` applies to each server; the time that
    /// is left is divided among the servers that are left.
    ///
    /// Host name lookup is left to the system and is not covered by the limit.
    func connect(hostLimit: Duration) throws {
        let runDeadline = deadline
        defer { deadline = runDeadline }
        var last: LedgerError?
        let attempts = try address.attempts()
        for (place, attempt) in attempts.enumerated() {
            // A host that does not answer leaves the hosts after it their share of the time.
            let share = (runDeadline - .now) / (attempts.count - place)
            deadline = min(runDeadline, .now + min(hostLimit, share))
            do { return try connect(attempt) } catch let error as LedgerError {
                // Another server would refuse a wrong password too.
                guard error.code == .ledgerCannotReach else { throw error }
                last = error
            }
            guard ContinuousClock.now < runDeadline else { break }
        }
        throw last ?? failure(.ledgerCannotReach, "no server is configured")
    }

    private func connect(_ attempt: Address.Attempt) throws {
        guard let pointer = attempt.withParameters({ PQconnectStartParams($0, $1, 0) }) else {
            throw failure(.ledgerExhausted, "out of memory")
        }
        let link = Link(adopting: pointer)
        // Verbose messages contain the SQLSTATE. While connecting, libpq shows it in no other way.
        PQsetErrorVerbosity(pointer, PQERRORS_VERBOSE)
        guard PQstatus(pointer) != CONNECTION_BAD else { throw refusal(link) }
        var events = Int16(POLLOUT)
        while true {
            if let reason = wait(on: link, for: events).reason {
                guard reason == .ledgerTimedOut else { throw failure(reason, "the task was cancelled") }
                throw failure(.ledgerCannotReach, "\(server(link)) did not answer in time")
            }
            switch PQconnectPoll(pointer) {
            case PGRES_POLLING_READING: events = Int16(POLLIN)
            case PGRES_POLLING_WRITING: events = Int16(POLLOUT)
            case PGRES_POLLING_OK:
                guard PQsetnonblocking(pointer, 1) == 0 else { throw refusal(link) }
                self.link = link
                return
            default: throw refusal(link)
            }
        }
    }

    private func server(_ link: Link) -> String {
        let host = PQhost(link.pointer).map { String(cString: $0) } ?? ""
        return host.isEmpty ? "the server" : host
    }

    private func user(_ link: Link) -> String { PQuser(link.pointer).map { String(cString: $0) } ?? "the user" }

    /// Why libpq could not connect.
    private func refusal(_ link: Link) -> LedgerError {
        let report = ConnectionReport(link.message)
        let code: FailureCode =
            switch report.sqlState {
            case nil: PQconnectionNeedsPassword(link.pointer) == 1 ? .ledgerPermissionDenied : .ledgerCannotReach
            case "3D000": .ledgerMissing
            case "42501": .ledgerPermissionDenied
            case let state?: state.hasPrefix("28") ? .ledgerPermissionDenied : .ledgerCannotReach
            }
        let hint = AccessHint.connecting(
            report.sqlState,
            report.message,
            needsPassword: code == .ledgerPermissionDenied,
            user: user(link)
        )
        return failure(code, report.message, sqlState: report.sqlState, hint: hint)
    }

    // MARK: - Waiting

    /// Waits until the socket is ready. Returns a reason instead if the run must end.
    private func wait(on link: Link, for events: Int16) -> (events: Int16, reason: FailureCode?) {
        while true {
            var waited = [
                pollfd(fd: PQsocket(link.pointer), events: events, revents: 0),
                // Once a statement is cancelled, wait only for its end. poll ignores -1.
                pollfd(fd: reasonToEnd == nil ? interruption.descriptor : -1, events: Int16(POLLIN), revents: 0),
            ]
            let answer = poll(&waited, 2, milliseconds(until: deadline))
            if answer == 0 { return (0, .ledgerTimedOut) }
            guard answer > 0 else { continue }  // EINTR: nothing else can happen to these
            if waited[1].revents != 0 { return (0, .cancelled) }
            return (waited[0].revents, nil)
        }
    }

    /// Whether data arrives before `end`. Throws if the run must end.
    func isReadable(_ link: Link, until end: ContinuousClock.Instant) throws -> Bool {
        let runDeadline = deadline
        deadline = min(end, runDeadline)
        let reason = wait(on: link, for: Int16(POLLIN)).reason
        deadline = runDeadline
        if reason == .cancelled || runDeadline <= .now { try checkRun() }
        return reason == nil
    }

    /// Waits until the server is readable or, with POLLOUT, writable.
    ///
    /// When the run must end, this cancels the statement and goes on waiting, so that its outcome becomes known.
    func awaitServer(_ link: Link, _ events: Int16) throws -> Int16 {
        let waited = wait(on: link, for: events)
        guard let reason = waited.reason else { return waited.events }
        if reasonToEnd == nil, link.requestCancel() {
            reasonToEnd = reason
            deadline = .now + grace
            return 0
        }
        let known = reasonToEnd ?? reason
        // A server under load ends a statement when it is asked to.
        let isSilent = reasonToEnd == .ledgerTimedOut
        reasonToEnd = known
        let mayHaveHappened = isFinalChange
        let silence = "\(server(link)) does not answer any more"
        close()
        if isSilent { throw failure(.ledgerCannotReach, silence, mayHaveHappened: mayHaveHappened) }
        throw failure(known, Self.text(of: known), mayHaveHappened: mayHaveHappened)
    }

    private static func text(of reason: FailureCode) -> String {
        reason == .cancelled ? "the task was cancelled" : "the operation timed out"
    }

    private func milliseconds(until deadline: ContinuousClock.Instant) -> Int32 {
        let left = deadline - .now
        return left > .zero ? Int32(clamping: Int((left / .milliseconds(1)).rounded(.up))) : 0
    }

    // MARK: - Statements

    /// The connection, ready for a statement. Throws before anything is sent if the run must end.
    ///
    /// `changes` says whether the statement by itself can change something for good. By default it can outside a
    /// transaction.
    func begin(changes: Bool? = nil) throws -> Link {
        guard let link, !isSpent else { throw failure(.ledgerConnectionLost, "the connection was closed") }
        try checkRun()
        isFinalChange = changes ?? link.isOutsideTransaction
        return link
    }

    /// Throws if the run must end.
    func checkRun() throws {
        if reasonToEnd == nil {
            if interruption.isRaised(ticket) {
                reasonToEnd = .cancelled
            } else if deadline <= .now {
                reasonToEnd = .ledgerTimedOut
            }
            if reasonToEnd != nil { deadline = .now + grace }
        }
        if let reasonToEnd { throw failure(reasonToEnd, Self.text(of: reasonToEnd)) }
    }

    /// Sends all that libpq has buffered, and reads meanwhile, so that the two sides do not block each other.
    func flush(_ link: Link) throws {
        while PQflush(link.pointer) == 1 {
            if try awaitServer(link, Int16(POLLIN | POLLOUT)) & Int16(POLLIN) != 0, PQconsumeInput(link.pointer) == 0 {
                return  // the next answer reports it
            }
        }
    }

    /// The next answer to what was sent; `nil` after the last.
    func nextAnswer(_ link: Link) throws -> Answer? {
        while PQisBusy(link.pointer) == 1 {
            if try awaitServer(link, Int16(POLLIN)) != 0, PQconsumeInput(link.pointer) == 0 { break }
        }
        return PQgetResult(link.pointer).map { Answer(adopting: $0) }
    }

    /// Sends a statement that returns its rows in binary form.
    func send(_ statement: Statement, on link: Link) throws {
        guard !statement.holdsZeroCharacter else {
            throw failure(.ledgerRefused, "a text contains the character U+0000, which PostgreSQL cannot store")
        }
        let isSent = statement.withParameters { types, values, lengths, formats in
            PQsendQueryParams(
                link.pointer,
                statement.sql,
                Int32(types.count),
                types,
                values,
                lengths,
                formats,
                1
            )
        }
        guard isSent == 1 else { throw sendingFailed(link) }
    }

    func sendingFailed(_ link: Link) -> LedgerError {
        failure(link.isBroken ? .ledgerConnectionLost : .ledgerBadStatement, link.message)
    }

    // MARK: - Errors

    func failure(
        _ code: FailureCode,
        _ detail: String,
        sqlState: String? = nil,
        hint: String? = nil,
        mayHaveHappened: Bool = false
    ) -> LedgerError {
        LedgerError(
            code,
            during: operation,
            // libpq and the server quote no password, but a given name may contain an address with one.
            PasswordField.hidden(in: detail.trimmedLines),
            sqlState: sqlState,
            hint: hint,
            mayHaveHappened: mayHaveHappened
        )
    }

    /// The error in an answer, from the server or from libpq.
    func failure(of answer: Answer, on link: Link, to sql: String? = nil) -> LedgerError {
        let state = answer.field(Int32(UInt8(ascii: "C")))
        guard let state else {
            // libpq's own error: the server has not answered.
            let mayHaveHappened = isFinalChange
            guard link.isBroken else { return failure(.ledgerBadStatement, answer.message) }
            return failure(.ledgerConnectionLost, answer.message, mayHaveHappened: mayHaveHappened)
        }
        var code = FailureCode(sqlState: state)
        if state == "57014", let reasonToEnd { code = reasonToEnd }
        // Perhaps the old primary of a cluster. The next connection looks for the new one.
        if code == .ledgerReadOnly || code == .ledgerConnectionLost { retire() }
        var detail = answer.field(Int32(UInt8(ascii: "M"))) ?? answer.message
        if let constraint = answer.field(Int32(UInt8(ascii: "n"))), !detail.contains(constraint) {
            detail += " (\(constraint))"
        }
        // The position is in characters of the statement, from 1.
        if let sql, let place = answer.field(Int32(UInt8(ascii: "P"))).flatMap({ Int($0) }) {
            detail += " at line \(sql.unicodeScalars.prefix(place - 1).count { $0 == "\n" } + 1)"
        }
        return failure(
            code,
            detail,
            sqlState: state,
            hint: answer.field(Int32(UInt8(ascii: "H")))
                ?? (state == "42501" ? AccessHint.using(detail, user: user(link)) : nil),
            mayHaveHappened: code == .ledgerConnectionLost && isFinalChange
        )
    }
}

extension Answer {
    /// The whole error report as one text.
    var message: String { String(cString: PQresultErrorMessage(pointer)) }
}

/// libpq's message about a failed connection.
struct ConnectionReport {
    /// The SQLSTATE, if the server sent an error.
    private(set) var sqlState: String?
    /// All lines but those that name places in PostgreSQL's source.
    private(set) var message: String

    /// Reads libpq's verbose message: `... failed: FATAL:  28P01: password authentication failed ...`.
    init(_ text: String) {
        message = text.split(separator: "\n").filter { !$0.hasPrefix("LOCATION:") }.joined(separator: "\n").trimmedLines
        // Only a server's report has two spaces, followed by its code, in every language.
        guard let mark = message.firstRange(of: ":  ") else { return }
        let state = message[mark.upperBound...].prefix(5)
        guard state.utf8.count == 5, state.allSatisfy({ $0.isASCII && ($0.isUppercase || $0.isNumber) }),
            message[state.endIndex...].hasPrefix(": ")
        else { return }
        sqlState = String(state)
        message.removeSubrange(mark.upperBound..<message.index(state.endIndex, offsetBy: 2))
    }
}

extension String {
    /// The text on one line, without white space at its ends.
    fileprivate var trimmedLines: String {
        split(whereSeparator: \.isNewline).map { $0.drop { $0.isWhitespace } }.joined(separator: "; ")
    }
}
