import HTTPServer
import Ledger
import Testing

@testable import API
@testable import Page

/// Large forms wait for each other, as the large bodies of the API do.
@Suite struct FormTurnsTests {
    @Test(.timeLimit(.minutes(15))) func `a large form waits for its turn`() async throws {
        let turns = BodyTurns(most: 1)
        // No connection is made before the form has its turn.
        let ledger = try JobLedger(LedgerConfiguration(url: "postgresql:///none"))
        let origins = OriginCheck(names: [])
        let access = PageAccess(
            authenticator: try TokenAuthenticator(ledger, lookUps: ledger, openRole: .submitter, origins: origins),
            origins: origins,
            operations: try APIServer.operations(version: "1"),
            turns: turns
        ) { $0 as? Problem ?? Problem(.overloaded) }
        let (began, beginning) = AsyncStream<Void>.makeStream()
        let (goesOn, going) = AsyncStream<Void>.makeStream()
        let bytes = Array("sources=".utf8) + [UInt8](repeating: UInt8(ascii: "a"), count: BodyTurns.smallBytes)
        let held = Task<Int, any Error> {
            try await turns.answer(bytes, of: "another") {
                .success($0.count)
            } run: { count in
                beginning.finish()
                for await _ in goesOn {}
                return count
            }
        }
        for await _ in began {}
        let fields: [(String, String)] = [
            ("host", "localhost"), ("origin", "http://localhost"), ("content-length", "\(bytes.count)"),
            ("content-type", "application/x-www-form-urlencoded"),
        ]
        let head = try #require(
            RequestHead(method: "POST", target: "/submit", fields: fields.map { RequestHead.Field($0.0, $0.1) })
        )
        let reception = try #require(CoordinatorPages(version: "1").receive(head, access))
        guard case .collect(_, let permit) = reception, case .granted(_, let run) = await permit() else {
            Issue.record("the form is not read")
            return
        }
        let form = Task { await run(bytes) }
        // Nothing tells that the form has begun to wait.
        while await turns.waitingCount == 0 { await Task.yield() }
        form.cancel()
        let status = await form.value.status
        #expect(status == .serviceUnavailable)
        going.finish()
        #expect(try await held.value == bytes.count)
        await ledger.close()
    }
}
