import Testing

@testable import Media

/// What of a source is wanted.
@Suite struct RangeCursorTests {
    @Test func framesOfAllRangesAreSummed() {
        #expect(RangeCursor([0..<100, 50..<80]).frames(of: nil) == 130)
        #expect(RangeCursor([0..<100, 900..<Int64.max]).frames(of: 1000) == 200)
        #expect(RangeCursor([0..<100, 900..<Int64.max]).frames(of: nil) == nil)
        // A range behind the end of the source adds nothing.
        #expect(RangeCursor([2000..<Int64.max]).frames(of: 1000) == 0)
    }

    @Test func onlyOneRangeOfEverythingIsWhole() {
        #expect(RangeCursor([0..<Int64.max]).isWhole)
        #expect(!RangeCursor([0..<Int64.max, 0..<Int64.max]).isWhole)
        #expect(!RangeCursor([0..<1000]).isWhole)
    }

    @Test(arguments: [
        (block: Int64(0)..<100, front: Int64(0), back: Int64(0)), (50..<150, 0, 0), (250..<350, 0, 50),
        (350..<450, 0, 150),
    ])
    func blockIsTrimmedAtTheEndOfTheSound(block: Range<Int64>, front: Int64, back: Int64) {
        #expect(RangeCursor([0..<1000]).excess(of: block, soundEnd: 300) == (front, back))
    }

    @Test(arguments: [
        (block: Int64(0)..<100, front: Int64(200), back: Int64(0)), (150..<250, 50, 0), (250..<350, 0, 50),
        (100..<400, 100, 100),
    ])
    func blockIsTrimmedToTheRange(block: Range<Int64>, front: Int64, back: Int64) {
        #expect(RangeCursor([200..<300]).excess(of: block, soundEnd: .max) == (front, back))
    }

    @Test func lossTouchesTheRangeWithOneFrame() {
        let cursor = RangeCursor([200..<300])
        #expect(!cursor.isTouched(at: 100, by: 100))
        #expect(cursor.isTouched(at: 100, by: 101))
        #expect(cursor.isTouched(at: 200, by: 0))
        #expect(cursor.isTouched(at: 299, by: 0))
        #expect(!cursor.isTouched(at: 300, by: 10))
    }

    @Test func partOfALossIsWhatTheRangeLacks() {
        let cursor = RangeCursor([200..<300])
        #expect(cursor.part(at: 100, of: 150) == (200, 50))
        #expect(cursor.part(at: 250, of: 1000) == (250, 50))
        #expect(cursor.part(at: 100, of: 50).frames < 0)
    }

    @Test func sourceThatEndsTooEarlyIsNamed() {
        #expect(RangeCursor([200..<300]).wantBeyond(300) == nil)
        #expect(RangeCursor([200..<300]).wantBeyond(299) == "ends at frame 300")
        #expect(RangeCursor([200..<Int64.max]).wantBeyond(200) == nil)
        #expect(RangeCursor([200..<Int64.max]).wantBeyond(199) == "begins at frame 200")
    }

    @Test func laterRangeIsReachedByReadingOn() {
        var cursor = RangeCursor([0..<100, 500..<600])
        #expect(cursor.keeps(64..<128) == false)
        #expect(cursor.advance(at: 128) == .onwards)
        #expect(cursor.current == 500..<600)
        #expect(cursor.advance(at: 640) == .onwards)
        #expect(cursor.current == nil)
    }

    @Test func rangeInTheSameBlockIsServedFromIt() {
        var cursor = RangeCursor([0..<100, 110..<120, 64..<70])
        #expect(cursor.keeps(64..<128) == true)
        #expect(cursor.advance(at: 128) == .heldBlock)
        #expect(cursor.keeps(64..<128) == true)
        #expect(cursor.advance(at: 128) == .heldBlock)
        #expect(cursor.current == 64..<70)
    }

    @Test func earlierRangeNeedsARestart() {
        var cursor = RangeCursor([0..<100, 63..<70])
        #expect(cursor.keeps(64..<128) == false)
        #expect(cursor.advance(at: 128) == .restart)
    }

    @Test func forgottenBlockServesNothing() {
        var cursor = RangeCursor([0..<100, 110..<120])
        #expect(cursor.keeps(64..<128) == true)
        cursor.forgetHeld()
        #expect(cursor.advance(at: 128) == .restart)
    }

    @Test func blockServesNoRangeThatGoesOnBehindWhatWasReadSince() {
        var cursor = RangeCursor([0..<100, 110..<Int64.max, 120..<200, 110..<128])
        #expect(cursor.keeps(64..<128) == true)
        #expect(cursor.advance(at: 128) == .heldBlock)
        #expect(cursor.keeps(64..<128) == false)
        #expect(cursor.advance(at: 1000) == .restart)
        #expect(cursor.advance(at: 256) == .heldBlock)
    }

    @Test func anyRangeMayFollowAnUndecidedOne() {
        var cursor = RangeCursor.undecided()
        #expect(cursor.current == nil && cursor.mayTurnBack)
        #expect(cursor.turn(to: 0..<100, at: 0) == .onwards)
        #expect(cursor.keeps(64..<128) == true)
        #expect(cursor.turn(to: 100..<300, at: 128) == .heldBlock)
        #expect(cursor.keeps(256..<320) == true)
        #expect(cursor.turn(to: 100..<128, at: 320) == .restart)
        #expect(cursor.turn(to: 400..<500, at: 320) == .onwards)
    }

    @Test func blockBeforeTheEndOfTheRangeIsNotKept() {
        var cursor = RangeCursor([0..<100, 32..<120])
        #expect(cursor.keeps(0..<64) == false)
    }
}
