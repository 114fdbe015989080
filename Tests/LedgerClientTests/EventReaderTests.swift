import Testing

@testable import LedgerClient

/// Server-sent events, also from hostile servers.
struct EventReaderTests {
    /// What the reader finds, if the text arrives in pieces of `size` bytes.
    private func find(_ text: String, by size: Int, _ reader: inout EventReader) -> EventReader.Finding? {
        var sum = EventReader.Finding()
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            let piece = bytes[start..<min(start + size, bytes.count)]
            guard let found = piece.withUnsafeBytes({ reader.take($0) }) else { return nil }
            sum.changes += found.changes
            sum.isAlive = sum.isAlive || found.isAlive
        }
        return sum
    }

    @Test(arguments: ["\n", "\r\n", "\r"], [1, 2, 3, 7, 10_000])
    func eventsAreCountedHoweverTheyArrive(end: String, size: Int) {
        let lines = [
            ": ping", "", "event: batch", "id: 17", "data: {\"a\":1}", "", "event:queue", "data: {}", "id:18", "",
            "event: resync", "data: {}", "", "event: news", "data: {}", "", "data: {}", "", "event: job", "", "data",
            "",
        ]
        var reader = EventReader()
        let found = find(lines.map { $0 + end }.joined(), by: size, &reader)
        // Events without a known name, or without data, tell nothing.
        #expect(found == EventReader.Finding(changes: 3, isAlive: true))
        #expect(reader.lastID == "18")
    }

    @Test func whatIsNoStreamOfEventsIsNoSignOfLife() {
        for text in ["<html>\n<body>\n\n</html>\n", "{}\n", "\n\n\n", "data: x\n\n", "event: batch\ndata: x\n"] {
            var reader = EventReader()
            #expect(find(text, by: 5, &reader) == EventReader.Finding())
        }
    }

    @Test func lineWithoutAnEndIsLeft() {
        var reader = EventReader()
        let piece = String(repeating: "x", count: 1 << 20)
        #expect(find("data: ", by: 100, &reader) != nil)
        for _ in 0..<3 { #expect(find(piece, by: 1 << 20, &reader) != nil) }
        #expect(find(piece, by: 1 << 20, &reader) == nil)
    }

    @Test func longLinesAreReadToTheirEnd() {
        var reader = EventReader()
        let data = String(repeating: "x", count: 1 << 20)
        let found = find("event: batch\ndata: \(data)\n\nevent: job\ndata: 1\n\n", by: 65_536, &reader)
        #expect(found?.changes == 2)
    }

    @Test func idsThatNoHeaderHoldsAreIgnored() {
        var reader = EventReader()
        for id in ["a\u{1}b", "ä", "a b", String(repeating: "9", count: 101)] {
            _ = find("id: \(id)\nevent: job\ndata: 1\n\n", by: 9, &reader)
            #expect(reader.lastID == nil)
        }
        _ = find("id: 5\n", by: 9, &reader)
        #expect(reader.lastID == "5")
    }
}

/// The signal for which a wait over HTTP sleeps.
struct ChangeSignalTests {
    @Test(.timeLimit(.minutes(15))) func signalEndsTheWaitThatIsUnderWayOrTheNext() async throws {
        let signal = ChangeSignal()
        signal.set()
        try await signal.wait(atMost: .seconds(3_600))
        async let setting: Void = {
            // In whatever order the two tasks run, the wait ends.
            signal.set()
        }()
        try await signal.wait(atMost: .seconds(3_600))
        await setting
        // It counts once.
        try await signal.wait(atMost: .milliseconds(1))
    }

    @Test(.timeLimit(.minutes(15))) func cancellationEndsTheWait() async {
        let signal = ChangeSignal()
        let task = Task { try await signal.wait(atMost: .seconds(3_600)) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
