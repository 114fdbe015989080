import TestSupport

/// The random moment at which a test injects a fault.
enum RandomMoment {
    /// Lets a random time within `milliseconds` pass.
    static func wait(milliseconds: Range<Int>, _ generator: inout SeededGenerator) async throws {
        // The moment is the test's input. It must not depend on any event in the processes that the fault hits.
        try await Task.sleep(for: .milliseconds(generator.whole(in: milliseconds)))
    }
}
