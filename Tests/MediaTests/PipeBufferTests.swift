import TestSupport
import Testing

@testable import Media

/// What is kept of a pipe.
@Suite struct PipeBufferTests {
    private func fill(_ buffer: inout PipeBuffer, to end: Int64, keeping place: Int64 = .max) {
        while buffer.end < end {
            let start = buffer.end
            let fresh = NumberedBytes.bytes(at: start..<min(end, start + 10_007))
            fresh.withUnsafeBufferPointer { buffer.append($0, keeping: place) }
        }
    }

    /// How many of 100 bytes at `place` are there. They must be the right ones.
    private func kept(_ buffer: PipeBuffer, _ place: Int64) -> Int {
        var bytes = [UInt8](repeating: 0, count: 100)
        let count = bytes.withUnsafeMutableBytes { buffer.copy(place, into: $0) }
        let areRight = (0..<count).allSatisfy { bytes[$0] == NumberedBytes.byte(at: place + Int64($0)) }
        #expect(areRight)
        return count
    }

    @Test func everythingIsKeptUntilItIsGivenUp() {
        var buffer = PipeBuffer()
        fill(&buffer, to: 3_000_000)
        for place in [0, 70_000, 1_500_000, 2_999_900] as [Int64] { #expect(kept(buffer, place) == 100) }
    }

    @Test func theFirstAndTheNewestBytesStay() {
        var buffer = PipeBuffer()
        buffer.forget(before: .max)
        fill(&buffer, to: 5_000_000)
        #expect(kept(buffer, 0) == 100 && kept(buffer, 65_400) == 100 && kept(buffer, 65_500) == 36)
        #expect(kept(buffer, 1_000_000) == 0)
        #expect(kept(buffer, 4_000_000) == 100 && kept(buffer, 4_999_950) == 50)
        #expect(kept(buffer, 5_000_000) == 0 && kept(buffer, -1) == 0)
    }

    @Test func whatIsNeededStays() {
        var buffer = PipeBuffer()
        buffer.forget(before: 1_000_000)
        fill(&buffer, to: 3_000_000)
        #expect(kept(buffer, 1_000_000) == 100)
        buffer.forget(before: .max)
        fill(&buffer, to: 9_000_000, keeping: 7_000_000)
        #expect(kept(buffer, 7_000_000) == 100 && kept(buffer, 1_000_000) == 0)
    }
}
