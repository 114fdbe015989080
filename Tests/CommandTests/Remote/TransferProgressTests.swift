import Testing

@testable import Command

/// What a transfer says of its speed.
struct TransferProgressTests {
    @Test func theRateIsThatOfTheBytesThatHadToMove() {
        var tally = TransferTally(files: 3, bytes: 300)
        tally.end(0, bytes: 100, wasPresent: true)
        tally.begin(1, present: 50)
        #expect(tally.movedBytes == 150)
        #expect(tally.carriedBytes == 0)
        tally.moving[1] = 80
        #expect(tally.movedBytes == 180)
        #expect(tally.carriedBytes == 30)
        let progress = TransferProgress(tally: tally, word: "fetched", passed: .seconds(3))
        #expect(progress.line.contains("1 of 3 files fetched  180 B of 300 B  10 B/s  "), "\(progress.line)")
        tally.end(1, bytes: 100, wasPresent: false)
        #expect(tally.carriedBytes == 50)
    }
}
