import Conversion
import Testing

@testable import Media

/// How a source should end, apart from any source.
@Suite struct EndCheckTests {
    @Test func onlyAnExactLengthOfASingleStreamIsTheEnd() {
        let exact = EndCheck(.exact(1000), PacketTraits())
        #expect(exact.endsWhereItPromised(isJoined: false))
        #expect(!exact.endsWhereItPromised(isJoined: true))
        #expect(!EndCheck(.about(1000, tolerance: 10), PacketTraits()).endsWhereItPromised(isJoined: false))
        #expect(!EndCheck(.none, PacketTraits()).endsWhereItPromised(isJoined: false))
        #expect(!EndCheck(.exact(1000), PacketTraits(mayFollowTheEnd: true)).endsWhereItPromised(isJoined: false))
    }

    @Test func sourceIsCompleteWithAllThatWasPromised() {
        let ends = EndCheck(.exact(1000), PacketTraits())
        #expect(ends.isComplete(after: 1000, isJoined: false, joinedFrames: nil))
        #expect(!ends.isComplete(after: 999, isJoined: false, joinedFrames: nil))
        #expect(!ends.isComplete(after: 1000, isJoined: true, joinedFrames: 2000))
        #expect(ends.isComplete(after: 2000, isJoined: true, joinedFrames: 2000))
        #expect(!ends.isComplete(after: 2000, isJoined: true, joinedFrames: nil))
    }

    @Test func whatPacketsLackOfTheSourceIsAnIncompletePacket() {
        var ends = EndCheck(.none, PacketTraits(lackIncompleteLast: true))
        ends.noteEnd(of: 100, behind: 100)
        #expect(ends.partialBytes == nil)
        ends.noteEnd(of: 100, behind: 90)
        #expect(ends.partialBytes == 10)
        ends.goOn()
        #expect(ends.partialBytes == nil)
        var other = EndCheck(.none, PacketTraits())
        other.noteEnd(of: 100, behind: 90)
        #expect(other.partialBytes == nil)
        other.notePartial(7)
        #expect(other.partialBytes == 7)
    }

    @Test func cutIsLookedForOnceTheEndIsKnown() {
        var ends = EndCheck(.none, PacketTraits())
        var asked = 0
        let unknown = ends.isCut {
            asked += 1
            return nil
        }
        let known = ends.isCut {
            asked += 1
            return true
        }
        let again = ends.isCut {
            asked += 1
            return false
        }
        #expect(!unknown && known && again && asked == 2)
    }
}
