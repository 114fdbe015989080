import Testing

@testable import Command

/// What the names of a book's files say of their order.
struct NameNumbersTests {
    private static let (files, folders) = (doubt(about: "files"), doubt(about: "folders"))

    private static func doubt(about nouns: String) -> String {
        "b: not all names of \(nouns) have a number in the same place, so their order may be wrong"
    }

    /// The alphabet is a guess.
    @Test(
        arguments: [
            ["Dawn.mp3", "Fog.mp3", "The tide.mp3"], ["Prologue.mp3", "1.mp3", "2.mp3"], ["I.mp3", "II.mp3", "IX.mp3"],
            ["Chapter One.mp3", "Chapter Two.mp3"], ["1984 Emma.mp3", "2001 Emma.mp3"],
            ["Part 1 a.mp3", "Part 1 b.mp3"],
        ]
    )
    func theOrderOfTheAlphabetIsADoubt(names: [String]) {
        #expect(NameNumbers.doubts(names, in: "b") == [Self.files])
        #expect(!NameNumbers.areComplete(names))
    }

    @Test func theSameHoldsForFolders() {
        #expect(NameNumbers.doubts(["Disc One/1.mp3", "Disc Two/1.mp3"], in: "b") == [Self.folders])
        let names = ["CD 1/1.mp3", "CD 1/2.mp3", "CD 3/1.mp3"]
        #expect(NameNumbers.doubts(names, in: "b") == ["b: no folder has the number 2"])
        #expect(NameNumbers.doubts(["a/x/1.mp3", "b/x/1.mp3"], in: "b") == [Self.folders])
    }

    @Test func oneFileIsInOrder() {
        #expect(NameNumbers.doubts(["Emma.mp3"], in: "b") == [])
        #expect(NameNumbers.doubts(["CD 1/a.mp3", "CD 2/b.mp3"], in: "b") == [])
        #expect(NameNumbers.areComplete(["CD 1/a.mp3", "CD 2/b.mp3"]))
    }

    /// Discs in names, and numbers that belong to the title.
    @Test(
        arguments: [
            ["1-01 x.mp3", "1-02 y.mp3", "2-01 z.mp3"], ["Book 2 - 01.mp3", "Book 2 - 02.mp3"],
            ["1984 - 1.mp3", "1984 - 2.mp3"], ["Catch 22 - 1.mp3", "catch 22 - 2.mp3"], ["03.mp3", "04.mp3"],
        ]
    )
    func numbersAreFoundBehindOthers(names: [String]) {
        #expect(NameNumbers.doubts(names, in: "b") == [])
        #expect(NameNumbers.areComplete(names))
    }

    /// Zeros before a number, and numbers that no disc or track has.
    @Test(
        arguments: [
            ["000000000001.mp3", "000000000002.mp3", "3.mp3"], ["20260101120000 - 1.mp3", "20260101120000 - 2.mp3"],
            ["0.mp3", "1.mp3"], ["00.mp3", "01.mp3"],
        ]
    )
    func longRunsOfDigitsAreNoObstacle(names: [String]) {
        #expect(NameNumbers.doubts(names, in: "b") == [])
        #expect(NameNumbers.areComplete(names))
    }

    @Test func datesAreNoNumbers() {
        #expect(NameNumbers.doubts(["20260101120000.mp3", "20260102130000.mp3"], in: "b") == [Self.files])
    }

    @Test func missingAndRepeatedNumbersAreDoubts() {
        let gaps: [String] = ["b: no file has the number 1", "b: no file has a number from 3 to 5"]
        #expect(NameNumbers.doubts(["2.mp3", "6.mp3"], in: "b") == gaps)
        let discs = ["1-1.mp3", "1-3.mp3", "2-1.mp3"]
        #expect(NameNumbers.doubts(discs, in: "b") == ["b: no file has the number 1-2"])
        #expect(NameNumbers.doubts(["1 x.mp3", "1 y.mp3", "2.mp3"], in: "b") == ["b: several files have the number 1"])
        let twice: [String] = [
            "b: several files are called 1, and all of them are heard", "b: several files have the number 1",
        ]
        #expect(NameNumbers.doubts(["1.flac", "1.mp3", "2.mp3"], in: "b") == twice)
    }
}
