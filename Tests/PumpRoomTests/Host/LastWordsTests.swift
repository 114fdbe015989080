import Glibc
import System
import TestSupport
import Testing

@testable import PumpRoom

struct LastWordsTests {
    private var buffer = [UInt8](repeating: 0, count: 1 << 16)
    private let words: LastWords
    private let writing: Int32

    init() throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw SupportError("make a pipe", errno: errno) }
        words = LastWords(from: SharedDescriptor(adopting: ends[0]))
        writing = ends[1]
    }

    /// Writes and reads until the slot refuses to read on. Returns the number of bytes.
    private mutating func talk(at now: SuspendingClock.Instant) -> Int {
        defer { close(writing) }
        let block = [UInt8](repeating: UInt8(ascii: "x"), count: 4 << 10)
        var count = 0
        while words.pollDescriptor(at: now) >= 0, count < LastWords.bytesPerSecond * 4 {
            count += write(writing, block, block.count)
            words.listen(into: &buffer)
        }
        return count
    }

    @Test mutating func aRoomThatNeverStopsTalkingIsReadAtABoundedRate() {
        let start = SuspendingClock.now
        #expect(talk(at: start) == LastWords.bytesPerSecond)
        #expect(words.pollDescriptor(at: start + .milliseconds(999)) < 0)
        #expect(words.pollDescriptor(at: start + .seconds(2)) >= 0)
        let kept = String(repeating: "x", count: 4 << 10)
        #expect(words.text == kept)
    }
}
