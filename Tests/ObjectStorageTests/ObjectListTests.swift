import ObjectStores
import TestSupport
import Testing

@testable import ObjectStorage

/// Lists of stores that do not come to an end.
struct ObjectListTests {
    private func kind(_ body: () throws(StoreError) -> Void) -> StoreError.Kind? {
        do throws(StoreError) {
            try body()
            return nil
        } catch { return error.kind }
    }

    /// Pages A, B, A, B; and pages without keys that always have a next one.
    @Test(arguments: [1, 2, 3, 7, -1])
    func listWithoutAnEndIsAnErrorOfTheStore(cycle: Int) throws {
        let store = try StrictStore()
        try store.set("cycle", json: "\(cycle)")
        var list = ObjectList(try store.client(), prefix: "")
        #expect(kind { () throws(StoreError) in while try list.next() != nil {} } == .unexpectedAnswer)
        #expect(try store.requests().count <= (cycle > 0 ? 4 * cycle : 1_001))
    }

    @Test func listOfUploadsWithoutAnEndIsAnErrorOfTheStore() throws {
        let store = try StrictStore()
        try store.set("cycle", json: "3")
        let client = try store.client()
        #expect(kind { () throws(StoreError) in try client.uploads(prefix: "") { _ in true } } == .unexpectedAnswer)
    }

    @Test(arguments: [(0, 1), (0, 2), (1, 1), (5, 3), (100, 40)])
    func repetitionIsFoundSoon(before: Int, length: Int) {
        var detection = CycleDetection<Int>()
        var found: Int?
        for step in 0..<1_000 where found == nil {
            if detection.repeats(step < before ? step : before + (step - before) % length) { found = step }
        }
        #expect(found.map { $0 >= before + length && $0 <= 4 * (before + length) } == true)
        var other = CycleDetection<Int>()
        #expect(!(0..<1_000).contains { other.repeats($0) })
    }
}
