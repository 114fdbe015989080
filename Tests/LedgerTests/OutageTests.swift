import Conversion
import TestSupport
import Testing

@testable import Ledger

struct OutageTests {
    @Test func aServerThatStopsUnderAStatementIsALostConnection() async throws {
        let server = try PrivatePostgres.start()
        let lab = try await Lab(on: server)
        for stop in [PrivatePostgres.Stop.immediate, .fast] {
            let task = Task { try await lab.run { try $0.execute("select pg_sleep(600)") } }
            try await lab.untilRunning("%pg_sleep(600)%")
            try server.restart(stop)
            let error = try await failure { try await task.value }
            #expect(error.code == .ledgerConnectionLost)
            #expect(error.mayHaveHappened)
            let one: Int = try await lab.run { try $0.value("select 1") }
            #expect(one == 1)
        }
    }

    @Test func aStatementInATransactionThatIsLostDidNotHappen() async throws {
        let lab = try await Lab()
        let schema = lab.schema
        try await lab.run { try $0.script(slowCommit(schema)) }
        let task = Task {
            try await lab.run { connection in
                try connection.transaction { _ = try connection.execute("select pg_sleep(600)") }
            }
        }
        try await lab.untilRunning("%pg_sleep(600)%")
        try lab.terminate()
        let error = try await failure { try await task.value }
        #expect(error.code == .ledgerConnectionLost)
        #expect(!error.mayHaveHappened)
    }

    @Test func aCommitWhoseAnswerIsLostMayHaveHappened() async throws {
        let lab = try await Lab()
        let schema = lab.schema
        try await lab.run { try $0.script(slowCommit(schema)) }
        let task = Task {
            try await lab.run { connection in
                try connection.transaction { _ = try connection.execute("insert into \(schema).t values (1)") }
            }
        }
        try await lab.untilRunning("commit")
        try lab.terminate()
        let error = try await failure { try await task.value }
        #expect(error.code == .ledgerConnectionLost)
        #expect(error.mayHaveHappened)
    }

    @Test func aConnectionThatDiedIdleIsReplacedUnnoticed() async throws {
        let lab = try await Lab { $0.connectionLimit = 1 }
        let before: Int = try await lab.run { try $0.value("select pg_backend_pid()") }
        try lab.terminate()
        let after: Int = try await lab.run { try $0.value("select pg_backend_pid()") }
        #expect(before != after)
    }

    @Test func aServerThatIsKilledAndComesBackIsWaitedFor() async throws {
        let server = try PrivatePostgres.start()
        let lab = try await Lab(on: server)
        try server.kill()
        let task = Task { try await lab.run { try $0.value("select 1", as: Int.self) } }
        try server.start()
        #expect(try await task.value == 1)
    }

    @Test func aServerThatStaysAwayIsOutOfReachWhenTimeIsOver() async throws {
        let server = try PrivatePostgres.start()
        let lab = try await Lab(on: server) { $0.reachTimeout = .milliseconds(300) }
        try server.stop()
        let start = ContinuousClock.now
        let error = try await failure { try await lab.run { try $0.execute("select 1") } }
        #expect(error.code == .ledgerCannotReach)
        #expect(error.isTransient)
        #expect(!error.mayHaveHappened)
        #expect(ContinuousClock.now - start < Lab.farTooLong)
    }

    @Test func waitingForAServerCanBeCancelled() async throws {
        let server = try SilentServer()
        let configuration = try LedgerConfiguration(
            url: "postgresql://ada@127.0.0.1:\(server.port)/x?connect_timeout=600"
        )
        let source = try ConnectionSource(configuration)
        let task = Task { try await source.run("wait") { try $0.execute("select 1") } }
        task.cancel()
        #expect(try await failure { try await task.value }.code == .cancelled)
    }

    @Test(arguments: [true, false])
    func aDeadOrSilentFirstHostDoesNotHideTheSecond(isSilent: Bool) async throws {
        let server = try PrivatePostgres.shared()
        let silent = try SilentServer()
        let first = isSilent ? "127.0.0.1:\(silent.port)" : "%2Fnowhere%2Fat%2Fall:1"
        var configuration = try LedgerConfiguration.patient(
            url: "postgresql://postgres@\(first),\(server.host):5432/postgres"
        )
        configuration.connectTimeout = .seconds(2)
        let start = ContinuousClock.now
        let one: Int = try await ConnectionSource(configuration).run("connect") { try $0.value("select 1") }
        #expect(one == 1)
        #expect(ContinuousClock.now - start < Lab.farTooLong)
    }

    /// A command waits no longer for the ledger than for a single host.
    @Test func aSilentFirstHostLeavesTimeForTheSecond() async throws {
        let server = try PrivatePostgres.shared()
        let silent = try SilentServer()
        var configuration = try LedgerConfiguration.patient(
            url: "postgresql://postgres@127.0.0.1:\(silent.port),\(server.host):5432/postgres"
        )
        configuration.connectTimeout = Lab.farTooLong
        configuration.reachTimeout = .seconds(20)
        let one: Int = try await ConnectionSource(configuration).run("connect") { try $0.value("select 1") }
        #expect(one == 1)
    }

    /// At boot a service may start before the server listens.
    @Test func serviceWaitsForAServerThatRefusesConnections() async throws {
        let server = try PrivatePostgres.start()
        var migrator = try Migrator(.patient(url: server.url()), migrations: [])
        migrator.firstWord = .milliseconds(100)
        try server.stop(.fast)
        let (waits, continuation) = AsyncStream.makeStream(of: FailureCode?.self)
        let check = Task { [migrator] in
            defer { continuation.finish() }
            try await migrator.check(waitingFor: Lab.farTooLong, onWait: { continuation.yield($0?.code) })
        }
        var words: [FailureCode?] = []
        for await word in waits {
            words.append(word)
            if words.count == 1 { try server.start() }
        }
        try await check.value
        #expect(words == [.ledgerCannotReach, nil])
    }

    @Test func serviceDoesNotWaitForEverForAServerThatNeverListens() async throws {
        let url = "postgresql://postgres@%2Fnowhere%2Fat%2Fall:1/postgres"
        var configuration = try LedgerConfiguration.patient(url: url)
        configuration.reachTimeout = .seconds(1)
        var migrator = try Migrator(configuration, migrations: [])
        migrator.firstWord = .milliseconds(50)
        let (waits, continuation) = AsyncStream.makeStream(of: FailureCode?.self)
        let error = try await failure { [migrator] in
            try await migrator.check(waitingFor: Lab.farTooLong, onWait: { continuation.yield($0?.code) })
        }
        continuation.finish()
        #expect(error.code == .ledgerCannotReach)
        var words: [FailureCode?] = []
        for await word in waits { words.append(word) }
        #expect(words == [.ledgerCannotReach])
    }

    /// A time that is shorter than that before the first word is divided, or the word would come with the failure.
    @Test func serviceSaysThatItWaitsBeforeAShortTimeIsOver() async throws {
        let url = "postgresql://postgres@%2Fnowhere%2Fat%2Fall:1/postgres"
        var spans: [Duration] = []
        // On a busy machine the first try may outlast a short time.
        for seconds in [3, 12, 48] where spans.allSatisfy({ $0 <= .milliseconds(200) }) {
            var configuration = try LedgerConfiguration.patient(url: url)
            configuration.reachTimeout = .seconds(seconds)
            var migrator = try Migrator(configuration, migrations: [])
            migrator.firstWord = .seconds(seconds * 2)
            let (words, continuation) = AsyncStream.makeStream(of: ContinuousClock.Instant.self)
            let error = try await failure { [migrator] in
                try await migrator.check(waitingFor: Lab.farTooLong, onWait: { _ in continuation.yield(.now) })
            }
            let end = ContinuousClock.now
            continuation.finish()
            #expect(error.code == .ledgerCannotReach)
            var count = 0
            for await word in words {
                spans.append(end - word)
                count += 1
            }
            #expect(count == 1)
        }
        #expect(spans.contains { $0 > .milliseconds(200) }, "\(spans)")
    }

    @Test func ofSeveralServersTheOneThatTakesChangesIsFound() async throws {
        let readOnly = try PrivatePostgres.start(settings: ["default_transaction_read_only": "on"])
        let writable = try PrivatePostgres.shared()
        let url = "postgresql://postgres@\(readOnly.host),\(writable.host)/postgres"
        let folder: String = try await ConnectionSource(try LedgerConfiguration.patient(url: url)).run("connect") {
            try $0.value("select current_setting('unix_socket_directories')")
        }
        #expect(folder == writable.folder)
        var alone = try LedgerConfiguration.patient(url: readOnly.url() + "?target_session_attrs=read-write")
        alone.reachTimeout = .milliseconds(100)
        let error = try await failure {
            try await ConnectionSource(alone).run("connect") { try $0.execute("select 1") }
        }
        #expect(error.code == .ledgerCannotReach)
    }

    /// Time does not mend these errors, so there is no retry.
    @Test func whatAnotherTryCannotMendFailsAtOnce() async throws {
        let server = try PrivatePostgres.shared()
        let start = ContinuousClock.now
        for (url, code) in [
            (server.url(database: "nothing_here"), FailureCode.ledgerMissing),
            (server.url(user: "nobody_here"), .ledgerPermissionDenied),
        ] {
            let source = try ConnectionSource(.patient(url: url))
            let error = try await failure { try await source.run("connect") { try $0.execute("select 1") } }
            #expect(error.code == code)
            #expect(error.sqlState != nil)
        }
        #expect(ContinuousClock.now - start < Lab.farTooLong)
    }

    @Test func aWrongPasswordIsNamedButNotShown() async throws {
        let server = try PrivatePostgres.start()
        try server.run("create role ada login password 'right'")
        try server.demandPasswords()
        for url in ["ada:wrong-one", "ada"] {
            let source = try ConnectionSource(try LedgerConfiguration.patient(url: server.url(user: url)))
            let error = try await failure { try await source.run("connect") { try $0.execute("select 1") } }
            #expect(error.code == .ledgerPermissionDenied)
            #expect(!error.description.contains("wrong-one"))
        }
        let right = try ConnectionSource(try LedgerConfiguration.patient(url: server.url(user: "ada:right")))
        let user: String = try await right.run("connect") { try $0.value("select current_user") }
        #expect(user == "ada")
    }
}

extension Lab {
    /// Ends the server's processes for this lab's connections, and waits until they are gone.
    func terminate() throws {
        try server.run(
            "select pg_terminate_backend(pid, 300000) from pg_stat_activity where application_name = '\(name)'"
        )
    }
}
