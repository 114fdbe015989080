import System
import Testing

/// The same function for many indices.
struct ParallelTests {
    @Test(arguments: [0, 1, 999, 1_000, 1_001, 25_000], [1, 2, 7]) func resultsStandInTheirOrder(count: Int, width: Int)
    {
        #expect(Parallel.map(count, width: width) { $0 * 2 } == (0..<count).map { $0 * 2 })
    }

    @Test func grainsOfOneAreAllDone() {
        #expect(Parallel.map(50, grain: 1, width: 4) { $0 } == Array(0..<50))
    }
}
