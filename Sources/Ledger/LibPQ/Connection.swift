import CLibPQ
import Glibc

/// One connection to PostgreSQL, used by one task at a time.
///
/// What is to be done is handed to `run` as a closure that does not suspend, so nothing of this process can come
/// between the statements of a transaction. Nothing is kept on the server between two runs: no prepared statement, no
/// setting, no lock. So it does not matter if PgBouncer gives each transaction to another server connection.
actor Connection {
    private nonisolated let executor = ConnectionExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private nonisolated let interruption: Interruption
    let address: Address
    private var link: Link?

    /// What the run in progress is for, in its errors.
    private(set) var operation = "connect"
    private var ticket: Interruption.Ticket = 0
    private var deadline = ContinuousClock.now
    /// Why the run in progress is to end; the statement that runs has been cancelled.
    private var reasonToEnd: LedgerError.Code?
    /// Whether the statement that runs changes something for good.
    private(set) var isFinalChange = false
    /// Set when the connection must not be used again.
    private var isSpent = false

    /// How long a cancelled statement may take to end before its connection is given up.
    private let grace: Duration

    /// Opens nothing; `connect` does. Throws `exhausted` if the process has too many open files.
    init(to address: Address, cancelGrace: Duration) throws {
        self.address = address
        grace = cancelGrace
        interruption = try Interruption()
    }

    // MARK: - Runs

    /// Does what `body` says, within `limit`.
    ///
    /// If the task is cancelled or the time is over, the statement that runs is cancelled on the server. A change that
    /// was made all the same is no error: the rest of the run is. A transaction left open is rolled back.
    @discardableResult
    nonisolated func run<Result: Sendable>(
        _ operation: String,
        within limit: Duration,
        _ body: @Sendable (isolated Connection) throws -> Result
    ) async throws -> Result {
        let deadline = ContinuousClock.now + limit
        let ticket = interruption.take()
        defer { interruption.drop(ticket) }
        return try await withTaskCancellationHandler {
            try await perform(operation, ticket, deadline, body)
        } onCancel: {
            interruption.raise(ticket)
        }
    }

    private func perform<Result: Sendable>(
        _ operation: String,
        _ ticket: Interruption.Ticket,
        _ deadline: ContinuousClock.Instant,
        _ body: @Sendable (isolated Connection) throws -> Result
    ) throws -> Result {
        self.operation = operation
        self.ticket = ticket
        self.deadline = deadline
        reasonToEnd = nil
        interruption.begin(ticket)
        defer { interruption.end() }
        defer { endRun() }
        return try body(self)
    }

    /// Leaves nothing behind for the next run.
    private func endRun() {
        guard let link else { return }
        // A cancellation that is still on its way would meet the next statement.
        if isSpent || reasonToEnd != nil || link.isBroken { return close() }
        if !link.isOutsideTransaction {
            do { try script("rollback", changes: false) } catch { close() }
        }
        while let notice = PQnotifies(link.pointer) { PQfreemem(notice) }
        _ = link.takeWarnings()
    }

    /// Whether another run may begin: connected, in order, and not closed by the server meanwhile.
    var isUsable: Bool {
        guard let link, !isSpent, !link.isBroken, link.isOutsideTransaction else { return false }
        guard takeWhatCame(link) else { return false }
        _ = PQisBusy(link.pointer)  // takes it apart, so that notices do not gather
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

    /// Throws if the server went away. libpq, as long as it only sends, does not tell.
    func checkIsThere(_ link: Link) throws {
        guard takeWhatCame(link), !link.isBroken else { throw failure(.connectionLost, link.message) }
    }

    /// What the server warned of in this run so far, each with its hint.
    func takeWarnings() -> [String] { link?.takeWarnings() ?? [] }

    /// Ends the connection; a transaction that is open is undone.
    func close() {
        isSpent = true
        link = nil
    }

    /// Closes the connection after this run: what comes next needs another server, or other rights.
    func retire() { isSpent = true }

    // MARK: - Connecting

    /// Connects to the first server of the address that is as wanted. `limit` is for each of them.
    ///
    /// Looking up a host's name is up to the system and takes its own time.
    func connect(hostLimit: Duration) throws {
        let runDeadline = deadline
        defer { deadline = runDeadline }
        var last: LedgerError?
        for attempt in try address.attempts() {
            deadline = min(runDeadline, .now + hostLimit)
            do { return try connect(attempt) } catch let error as LedgerError {
                // Another server would not know a wrong password better.
                guard error.code == .cannotReach else { throw error }
                last = error
            }
            guard ContinuousClock.now < runDeadline else { break }
        }
        throw last ?? failure(.cannotReach, "there is no server to connect to")
    }

    private func connect(_ attempt: Address.Attempt) throws {
        guard let pointer = attempt.withParameters({ PQconnectStartParams($0, $1, 0) }) else {
            throw failure(.exhausted, "out of memory")
        }
        let link = Link(adopting: pointer)
        // Shows the SQLSTATE, for which libpq has no other way while connecting.
        PQsetErrorVerbosity(pointer, PQERRORS_VERBOSE)
        guard PQstatus(pointer) != CONNECTION_BAD else { throw refusal(link) }
        var events = Int16(POLLOUT)
        while true {
            if let reason = wait(on: link, for: events).reason {
                guard reason == .timedOut else { throw failure(reason, "the task was cancelled") }
                throw failure(.cannotReach, "\(server(link)) did not answer in time")
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

    /// Why libpq gave a connection up.
    private func refusal(_ link: Link) -> LedgerError {
        let report = ConnectionReport(link.message)
        let code: LedgerError.Code =
            switch report.sqlState {
            case nil: PQconnectionNeedsPassword(link.pointer) == 1 ? .permissionDenied : .cannotReach
            case "3D000": .missing
            case "42501": .permissionDenied
            case let state?: state.hasPrefix("28") ? .permissionDenied : .cannotReach
            }
        return failure(code, report.message, sqlState: report.sqlState)
    }

    // MARK: - Waiting

    /// Waits until the socket is ready; the reason if the run is to end instead.
    private func wait(on link: Link, for events: Int16) -> (events: Int16, reason: LedgerError.Code?) {
        while true {
            var waited = [
                pollfd(fd: PQsocket(link.pointer), events: events, revents: 0),
                // Once a statement is cancelled only its end is waited for. poll passes over -1.
                pollfd(fd: reasonToEnd == nil ? interruption.descriptor : -1, events: Int16(POLLIN), revents: 0),
            ]
            let answer = poll(&waited, 2, milliseconds(until: deadline))
            if answer == 0 { return (0, .timedOut) }
            guard answer > 0 else { continue }  // EINTR: nothing else can happen to these
            if waited[1].revents != 0 { return (0, .cancelled) }
            return (waited[0].revents, nil)
        }
    }

    /// Whether there is something to read before `end`. Throws if the run is to end.
    func isReadable(_ link: Link, until end: ContinuousClock.Instant) throws -> Bool {
        let runDeadline = deadline
        deadline = min(end, runDeadline)
        let reason = wait(on: link, for: Int16(POLLIN)).reason
        deadline = runDeadline
        if reason == .cancelled || runDeadline <= .now { try checkRun() }
        return reason == nil
    }

    /// Waits until the server can be read from or, with POLLOUT, written to.
    ///
    /// When the run is to end, cancels the statement and goes on waiting, so that its outcome is known.
    func awaitServer(_ link: Link, _ events: Int16) throws -> Int16 {
        let waited = wait(on: link, for: events)
        guard let reason = waited.reason else { return waited.events }
        if reasonToEnd == nil, link.requestCancel() {
            reasonToEnd = reason
            deadline = .now + grace
            return 0
        }
        let known = reasonToEnd ?? reason
        reasonToEnd = known
        let mayHaveHappened = isFinalChange
        close()
        throw failure(known, Self.text(of: known), mayHaveHappened: mayHaveHappened)
    }

    private static func text(of reason: LedgerError.Code) -> String {
        reason == .cancelled ? "the task was cancelled" : "the time for it was over"
    }

    private func milliseconds(until deadline: ContinuousClock.Instant) -> Int32 {
        let left = deadline - .now
        return left > .zero ? Int32(clamping: Int((left / .milliseconds(1)).rounded(.up))) : 0
    }

    // MARK: - Statements

    /// The connection, ready for a statement. Throws if the run is to end, before anything is sent.
    ///
    /// `changes` says whether it alone can change something for good; without it that is so outside a transaction.
    func begin(changes: Bool? = nil) throws -> Link {
        guard let link, !isSpent else { throw failure(.connectionLost, "the connection was closed") }
        try checkRun()
        isFinalChange = changes ?? link.isOutsideTransaction
        return link
    }

    /// Throws if the run is to end.
    func checkRun() throws {
        if reasonToEnd == nil {
            if interruption.isRaised(ticket) {
                reasonToEnd = .cancelled
            } else if deadline <= .now {
                reasonToEnd = .timedOut
            }
            if reasonToEnd != nil { deadline = .now + grace }
        }
        if let reasonToEnd { throw failure(reasonToEnd, Self.text(of: reasonToEnd)) }
    }

    /// Sends all that libpq holds back, and reads meanwhile, so that neither side waits for the other.
    func flush(_ link: Link) throws {
        while PQflush(link.pointer) == 1 {
            if try awaitServer(link, Int16(POLLIN | POLLOUT)) & Int16(POLLIN) != 0, PQconsumeInput(link.pointer) == 0 {
                return  // the answer will tell
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

    /// Sends a statement that gives its rows in binary form.
    func send(_ statement: Statement, on link: Link) throws {
        guard !statement.holdsZeroCharacter else {
            throw failure(.refused, "a text holds the character U+0000, which PostgreSQL cannot store")
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
        failure(link.isBroken ? .connectionLost : .badStatement, link.message)
    }

    // MARK: - Errors

    func failure(
        _ code: LedgerError.Code,
        _ detail: String,
        sqlState: String? = nil,
        hint: String? = nil,
        mayHaveHappened: Bool = false
    ) -> LedgerError {
        LedgerError(
            code,
            during: operation,
            // libpq and the server quote no password; a name that was given may hold an address with one.
            PasswordField.hidden(in: detail.trimmedLines),
            sqlState: sqlState,
            hint: hint,
            mayHaveHappened: mayHaveHappened
        )
    }

    /// What the server, or libpq in its place, says went wrong.
    func failure(of answer: Answer, on link: Link, to sql: String? = nil) -> LedgerError {
        let state = answer.field(Int32(UInt8(ascii: "C")))
        guard let state else {
            // libpq's own: the server has not answered.
            let mayHaveHappened = isFinalChange
            guard link.isBroken else { return failure(.badStatement, answer.message) }
            return failure(.connectionLost, answer.message, mayHaveHappened: mayHaveHappened)
        }
        var code = LedgerError.Code(sqlState: state)
        if state == "57014", let reasonToEnd { code = reasonToEnd }
        // The old primary of a cluster, perhaps: the next connection looks for the new one.
        if code == .readOnly || code == .connectionLost { retire() }
        var detail = answer.field(Int32(UInt8(ascii: "M"))) ?? answer.message
        if let constraint = answer.field(Int32(UInt8(ascii: "n"))), !detail.contains(constraint) {
            detail += " (\(constraint))"
        }
        // Counted in characters of the statement, from 1.
        if let sql, let place = answer.field(Int32(UInt8(ascii: "P"))).flatMap({ Int($0) }) {
            detail += " at line \(sql.unicodeScalars.prefix(place - 1).count { $0 == "\n" } + 1)"
        }
        return failure(
            code,
            detail,
            sqlState: state,
            hint: answer.field(Int32(UInt8(ascii: "H"))),
            mayHaveHappened: code == .connectionLost && isFinalChange
        )
    }
}

extension Answer {
    /// The error's whole report as one text.
    var message: String { String(cString: PQresultErrorMessage(pointer)) }
}

/// What libpq says about a connection that came to nothing.
struct ConnectionReport {
    /// The server's code, where the server said anything.
    private(set) var sqlState: String?
    /// All lines but those that name places in PostgreSQL's source.
    private(set) var message: String

    /// Reads libpq's verbose message: `... failed: FATAL:  28P01: password authentication failed ...`.
    init(_ text: String) {
        message = text.split(separator: "\n").filter { !$0.hasPrefix("LOCATION:") }.joined(separator: "\n").trimmedLines
        // Only a report of a server's has two spaces, and after them its code, in every language.
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
    /// On one line, without space at its ends.
    fileprivate var trimmedLines: String {
        split(whereSeparator: \.isNewline).map { $0.drop { $0.isWhitespace } }.joined(separator: "; ")
    }
}
