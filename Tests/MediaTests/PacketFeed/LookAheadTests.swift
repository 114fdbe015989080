import Conversion
import Testing

@testable import Media

/// What is known about the packet read ahead, and the size of a place that reading returns to.
@Suite struct LookAheadTests {
    @Test func packetIsTakenOnce() {
        var ahead = LookAhead()
        let before = ahead.take()
        ahead.isHeld = true
        let (first, second) = (ahead.take(), ahead.take())
        #expect(!before && first && !second)
    }

    @Test func lossBelongsToThePacketBehindIt() {
        var ahead = LookAhead()
        ahead.begin()
        ahead.note(Loss(code: .corruptStream, frames: 10, detail: "damage"))
        ahead.note(nil)
        var arrival = ahead.arrival
        ahead.begin()
        #expect(ahead.arrival.loss == nil)
        let (first, second) = (arrival.takeLoss(), arrival.takeLoss())
        #expect(first?.frames == 10 && second == nil)
    }

    @Test func earlyEndIsTakenOnceAndForgotten() {
        var ahead = LookAhead()
        ahead.end(with: .invalidData("av_read_frame"))
        let mark = ahead
        let (first, second) = (ahead.takeEarlyEnd(), ahead.takeEarlyEnd())
        #expect(first != nil && second == nil)
        ahead = mark
        ahead.forgetEnd()
        #expect(ahead.earlyEnd == nil)
    }

    @Test func markTakesAboutAKibibyte() { #expect(MemoryLayout<SeekMark>.stride < 1280) }
}
