import TestSupport
import Testing

@testable import Ledger

struct WakeUpsTests {
    @Test func newsArriveLongBeforeTheNextLook() async throws {
        let lab = try await Lab { $0.pollInterval = .seconds(3_600) }
        let channel = "\(lab.schema) news"
        var wakeUps = WakeUps(configuration: lab.configuration, channel: channel).makeAsyncIterator()
        // The first wake-up shows that it listens now.
        #expect(await wakeUps.next() == .timePassed)
        let start = ContinuousClock.now
        for text in ["one", "two"] {
            try await lab.run { try $0.execute("select pg_notify(\(channel), \(text))") }
            #expect(await wakeUps.next() == .notified([text]))
        }
        #expect(ContinuousClock.now - start < Lab.farTooLong)
    }

    @Test func whoIsBusyFindsOneWakeUpForMany() async throws {
        let lab = try await Lab { $0.pollInterval = .seconds(3_600) }
        let channel = lab.name
        var wakeUps = WakeUps(configuration: lab.configuration, channel: channel).makeAsyncIterator()
        #expect(await wakeUps.next() == .timePassed)
        try await lab.run { connection in
            for number in 1...100 { try connection.execute("select pg_notify(\(channel), \(String(number)))") }
        }
        var texts: Set<String> = []
        var count = 0
        while !texts.contains("100") {
            if case .notified(let more) = await wakeUps.next() { texts.formUnion(more) }
            count += 1
        }
        #expect(count <= 100)
        // Merging loses none of them.
        #expect(texts == Set((1...100).map { "\($0)" }))
        try await lab.run { try $0.execute("select pg_notify(\(channel), \("end"))") }
        #expect(await wakeUps.next() == .notified(["end"]))
    }

    @Test func withoutNewsTheClockWakes() async throws {
        for listens in [true, false] {
            let lab = try await Lab {
                $0.pollInterval = .milliseconds(20)
                $0.listens = listens
            }
            var wakeUps = WakeUps(configuration: lab.configuration, channel: lab.name).makeAsyncIterator()
            for _ in 0..<5 { #expect(await wakeUps.next() == .timePassed) }
        }
    }

    @Test func afterAnOutageItListensAgain() async throws {
        let server = try PrivatePostgres.start()
        let lab = try await Lab(on: server) { $0.pollInterval = .milliseconds(50) }
        let channel = lab.name
        var wakeUps = WakeUps(configuration: lab.configuration, channel: channel).makeAsyncIterator()
        _ = await wakeUps.next()
        try server.stop()
        let start = ContinuousClock.now
        for _ in 0..<10 { #expect(await wakeUps.next() == .timePassed) }
        #expect(ContinuousClock.now - start < Lab.farTooLong)
        try server.start()
        while await wakeUps.next() != .notified(["back"]) {
            try await lab.run { try $0.execute("select pg_notify(\(channel), \("back"))") }
        }
    }

    @Test func whoStopsLookingLeavesNoConnection() async throws {
        let lab = try await Lab { $0.pollInterval = .seconds(3_600) }
        for await _ in WakeUps(configuration: lab.configuration, channel: lab.name) { break }
        let deadline = ContinuousClock.now + Lab.farTooLong
        // The server ends the session after the client has gone, and sends no event.
        while try await lab.run({ connection in
            try connection.value(
                "select count(*) from pg_stat_activity where application_name = \(lab.name)",
                as: Int.self
            )
        }) > 1 {
            try #require(ContinuousClock.now < deadline)
        }
    }

    /// A slow pace is for those who miss nothing: it ends with a notification, and never begins without a connection.
    @Test func slowPaceEndsWithANotification() async throws {
        let lab = try await Lab { $0.pollInterval = .seconds(1) }
        let pace = SignalPace()
        #expect(!pace.isListening)
        let before = pace.count
        let channel = lab.name
        var wakeUps = WakeUps(configuration: lab.configuration, channel: channel, pace: pace).makeAsyncIterator()
        #expect(await wakeUps.next() == .timePassed)
        #expect(pace.isListening)
        // Notifications from before it listened count as missed, so what was known then does not slow it down.
        pace.slowDown(since: before)
        #expect(pace.next(.seconds(1)) == .seconds(1))
        pace.slowDown(since: pace.count)
        #expect(pace.next(.seconds(1)) == .seconds(5))
        // The interval that has begun may be a usual one.
        #expect(await wakeUps.next() == .timePassed)
        let start = ContinuousClock.now
        #expect(await wakeUps.next() == .timePassed)
        #expect(.now - start > .seconds(3))
        let seen = pace.count
        try await lab.run { try $0.execute("select pg_notify(\(channel), \("news"))") }
        #expect(await wakeUps.next() == .notified(["news"]))
        #expect(pace.next(.seconds(1)) == .seconds(1))
        // An answer that was on its way when the notification came says nothing of what follows.
        pace.slowDown(since: seen)
        #expect(pace.next(.seconds(1)) == .seconds(1))
    }
}
