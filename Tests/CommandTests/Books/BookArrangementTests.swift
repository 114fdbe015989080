import Conversion
import TestSupport
import Testing

@testable import Command

/// The order of a book's files, and the doubts about it.
struct BookArrangementTests {
    /// A file with these numbers in its tags; one without numbers has tags, too.
    private func file(_ name: String, disc: Int? = nil, track: Int? = nil, of tracks: Int? = nil) -> Book.File {
        var facts = Book.Facts()
        (facts.disc, facts.track, facts.tracks) = (disc, track, tracks)
        return Book.File(place: "book/\(name)", name: name, facts: facts)
    }

    private func book(_ files: [Book.File], _ order: BookOrder? = nil, list: [String]? = nil) -> Book {
        Book(files, in: "book", order: order, list: list)
    }

    private func names(_ book: Book) -> [String] { book.files.map(\.name) }

    @Test func tracksDecideIfAllFilesHaveOne() {
        let found = book([file("a.mp3", track: 3), file("b.mp3", track: 1), file("c.mp3", track: 2)])
        #expect(names(found) == ["b.mp3", "c.mp3", "a.mp3"] && found.doubts == [])
    }

    @Test func namesDecideOtherwise() {
        let found = book([file("10.mp3", track: 1), file("2.mp3", track: 2), file("1.mp3")])
        #expect(names(found) == ["1.mp3", "2.mp3", "10.mp3"])
        #expect(found.doubts.last == "book: 1 file without a track number, so names decide the order")
        // Where no file has tags, nothing is odd.
        let plain = book(["10.mp3", "9.mp3"].map { Book.File(place: $0, name: $0) })
        #expect(names(plain) == ["9.mp3", "10.mp3"] && plain.doubts == [])
        let asked = book([file("2.mp3", track: 1), file("1.mp3", track: 2)], .names)
        #expect(names(asked) == ["1.mp3", "2.mp3"] && asked.doubts == [])
    }

    @Test func missingAndRepeatedTracksAreDoubts() {
        let found = book([
            file("a.mp3", track: 1, of: 9), file("b.mp3", track: 3), file("d.mp3", track: 4), file("c.mp3", track: 4),
            file("e.mp3", track: 7),
        ])
        #expect(names(found) == ["a.mp3", "b.mp3", "c.mp3", "d.mp3", "e.mp3"])
        let doubts: [String] = [
            "book: track 2 is missing", "book: tracks 5 to 6 are missing", "book: tracks 8 to 9 are missing",
            "book: c.mp3 and d.mp3 both say track 4",
        ]
        #expect(found.doubts == doubts, "\(found.doubts)")
    }

    @Test func discsHaveNumbersOfTheirOwn() {
        let found = book([
            file("a.mp3", disc: 2, track: 1), file("b.mp3", disc: 1, track: 2), file("c.mp3", disc: 1, track: 1),
            file("d.mp3", disc: 2, track: 3),
        ])
        #expect(names(found) == ["c.mp3", "b.mp3", "a.mp3", "d.mp3"])
        #expect(found.doubts == ["book, disc 2: track 2 is missing"])
    }

    /// Their files have no tracks.
    @Test func discsAloneAreHeardOneAfterAnother() {
        let found = book([file("a.mp3", disc: 2), file("c.mp3", disc: 1), file("b.mp3", disc: 1)])
        #expect(names(found) == ["b.mp3", "c.mp3", "a.mp3"])
        #expect(found.doubts == ["book: b.mp3, c.mp3 and a.mp3 have no track number"])
        // One disc says nothing about the order.
        #expect(names(book([file("b.mp3", disc: 1), file("a.mp3", disc: 1)])) == ["a.mp3", "b.mp3"])
    }

    @Test func numbersMayGoOnFromDiscToDisc() {
        let found = book((1...6).reversed().map { file("\($0).mp3", disc: ($0 + 2) / 3, track: $0, of: 3) })
        #expect(names(found) == (1...6).map { "\($0).mp3" } && found.doubts == [])
        let halves = book([file("a.mp3", disc: 1, track: 1), file("b.mp3", disc: 3, track: 2)])
        #expect(halves.doubts == ["book: disc 2 is missing"])
    }

    /// A file that lacks the disc of all others has its place by its track.
    @Test func aFileWithoutADiscStaysAmongTheOthers() {
        let files = (1...4).map { file("\($0).mp3", disc: $0 == 3 ? nil : 1, track: $0) }
        let found = book(files)
        #expect(names(found) == ["1.mp3", "2.mp3", "3.mp3", "4.mp3"] && found.doubts == [])
        let second = book([
            file("CD 1/a.mp3", disc: 1, track: 1), file("CD 2/c.mp3", disc: 2, track: 1), file("CD 2/b.mp3", track: 2),
        ])
        #expect(names(second) == ["CD 1/a.mp3", "CD 2/c.mp3", "CD 2/b.mp3"])
        #expect(second.doubts == ["book: CD 2/b.mp3 has no disc number"])
        // In one folder, the files of the first disc may be those without a number.
        let flat = book([
            file("a.mp3", track: 1), file("b.mp3", track: 2), file("c.mp3", disc: 2, track: 1),
            file("d.mp3", disc: 2, track: 2),
        ])
        #expect(names(flat) == ["a.mp3", "b.mp3", "c.mp3", "d.mp3"])
        #expect(flat.doubts == ["book: a.mp3 and b.mp3 have no disc number"])
    }

    /// A repeated track does not make the names of the folders decide.
    @Test func discsDecideAmongFoldersThatHoldOneEach() {
        let found = book([
            file("Disc Three/a.mp3", disc: 3, track: 1), file("Disc Two/a.mp3", disc: 2, track: 1),
            file("Disc Two/b.mp3", disc: 2, track: 1), file("Disc One/a.mp3", disc: 1, track: 1),
        ])
        #expect(names(found) == ["Disc One/a.mp3", "Disc Two/a.mp3", "Disc Two/b.mp3", "Disc Three/a.mp3"])
        #expect(found.doubts == ["book, disc 2: Disc Two/a.mp3 and Disc Two/b.mp3 both say track 1"])
    }

    /// One track that occurs twice does not make all others of later discs be missed.
    @Test func numbersThatGoOnMayRepeat() {
        let discs = (1...3).flatMap { disc in
            (1...3).map { file("\(disc)-\($0).mp3", disc: disc, track: 3 * disc - 3 + $0, of: 3) }
        }
        let found = book(discs + [file("2-4.mp3", disc: 2, track: 6)])
        #expect(found.doubts == ["book, disc 2: 2-3.mp3 and 2-4.mp3 both say track 6"])
        // A total tells that a disc counts by itself.
        let short = book([
            file("1-1.mp3", disc: 1, track: 1), file("1-2.mp3", disc: 1, track: 1),
            file("2-3.mp3", disc: 2, track: 3, of: 3),
        ])
        #expect(short.doubts.contains("book, disc 2: tracks 1 to 2 are missing"))
    }

    @Test func theHundredsMayBeTheDisc() {
        let tracks = [101, 102, 201, 203]
        let found = book(tracks.map { file("\($0).mp3", track: $0) })
        #expect(found.doubts == ["book: track 202 is missing"])
    }

    @Test func oneDiscByItselfLacksNoOther() {
        var one = file("1.mp3", disc: 2, track: 1)
        one.facts?.discs = 3
        #expect(Book([one], in: "Ada/CD 2", order: nil).doubts == [])
        #expect(book([one]).doubts == ["book: disc 1 is missing", "book: disc 3 is missing"])
    }

    /// Discs without tags for them are told by their folders.
    @Test func foldersKeepTheirFilesTogether() {
        let found = book([
            file("CD 10/x.mp3", track: 1), file("CD 9/b.mp3", track: 1), file("CD 9/a.mp3", track: 2),
        ])
        #expect(names(found) == ["CD 9/b.mp3", "CD 9/a.mp3", "CD 10/x.mp3"] && found.doubts == [])
        let words = book(["One", "Three", "Two"].map { file("Disc \($0)/a.mp3", track: 1) })
        let doubt = "book: not all names of folders have a number in the same place, so their order may be wrong"
        #expect(words.doubts == [doubt], "\(words.doubts)")
    }

    @Test func filesWithoutATrackComeLastIfTagsMustDecide() {
        let found = book([file("a.mp3"), file("b.mp3", track: 1)], .tags)
        #expect(names(found) == ["b.mp3", "a.mp3"])
        #expect(found.doubts == ["book: a.mp3 has no track number"])
    }

    @Test func namesThatSayAnotherOrderAreADoubt() {
        let found = book([file("1 x.mp3", track: 2), file("2 y.mp3", track: 1)])
        #expect(names(found) == ["2 y.mp3", "1 x.mp3"])
        #expect(found.doubts == ["book: file 1 is 2 y.mp3 by its tags, and 1 x.mp3 by its name"])
    }

    @Test func wildNumbersMakeNoLongLists() {
        let found = book([file("a.mp3", track: 1, of: 99_999), file("b.mp3", track: 99_998), file("c.mp3", track: 2)])
        #expect(names(found) == ["a.mp3", "c.mp3", "b.mp3"])
        #expect(found.doubts == ["book: b.mp3 has a track number far above the others"])
    }

    @Test func aListDecidesWhatIsHeard() {
        let files = ["CD 1/a.mp3", "CD 1/b.mp3", "CD 2/a.mp3", "c.mp3"].map { Book.File(place: $0, name: $0) }
        let text = "\u{FEFF}#EXTM3U\r\n./c.mp3\r\nCD 2\\a.mp3\r\n\r\n/x/book/CD 1/a.mp3\nb.mp3\nd.mp3\n"
        let list = PlayList.names(in: text)
        let found = book(files, .list("x.m3u"), list: list)
        #expect(names(found) == ["c.mp3", "CD 2/a.mp3", "CD 1/a.mp3", "CD 1/b.mp3"])
        #expect(found.doubts == ["book: the list names d.mp3, which is not there"])
        // The end of a path that two files have says nothing.
        let short = book(files, .list("x.m3u"), list: ["a.mp3", "c.mp3", "c.mp3"])
        #expect(names(short) == ["c.mp3"])
        let doubts: [String] = [
            "book: the list names a.mp3, which is not there", "book: the list names c.mp3 more than once",
            "book: CD 1/a.mp3 is not in the list, and is left out",
            "book: CD 1/b.mp3 is not in the list, and is left out",
            "book: CD 2/a.mp3 is not in the list, and is left out",
        ]
        #expect(short.doubts == doubts, "\(short.doubts)")
    }

    @Test func spacesBehindANameInAListDoNotCount() {
        let files = ["1.mp3", "2.mp3 "].map { Book.File(place: $0, name: $0) }
        #expect(names(book(files, .list("x.m3u"), list: ["2.mp3 ", "1.mp3 \t"])) == ["2.mp3 ", "1.mp3"])
    }

    /// Each line was compared with each file: this took minutes.
    @Test func aLongListOfAFullFolderIsReadAtOnce() {
        let files = (1...4_000).map { Book.File(place: "book/\($0).mp3", name: "\($0).mp3") }
        let list =
            (1...4_000).reversed().map { "/music/book/\($0).mp3" } + [String](repeating: "none.mp3", count: 10_000)
        let (found, time) = ProcessorTime.measure { book(files, .list("x.m3u"), list: list) }
        #expect(time < .seconds(20))
        #expect(found.files.count == 4_000 && found.files[0].name == "4000.mp3")
        #expect(found.doubts == ["book: the list names 10000 files that are not there, such as none.mp3"])
        let long = book(files, .list("x.m3u"), list: [String(repeating: "x", count: 1_000_000), "1.mp3"])
        #expect(long.doubts.allSatisfy { $0.utf8.count < 300 })
    }

    /// Names such as `01.mp3` are those of other books as well.
    @Test func aListOfAnotherFolderIsADoubt() {
        let files = ["01.mp3", "02.mp3"].map { Book.File(place: $0, name: $0) }
        func doubts(_ list: [String], in folder: String = "lib/book") -> [String] {
            Book(files, in: folder, order: .list("x.m3u"), list: list).doubts
        }
        let doubt = "lib/book: the list names files of other folders, such as ../Emma/02.mp3"
        #expect(doubts(["../Emma/02.mp3", "/lib/Emma/01.mp3"]) == [doubt])
        #expect(doubts(["/x/book/02.mp3", "book/01.mp3"]) == [] && doubts(["Emma/02.mp3", "01.mp3"], in: ".") == [])
        #expect(doubts([#"C:\Emma\02.mp3"#, "01.mp3"]).count == 1)
    }

    @Test func aListOfOtherThingsMakesOneDoubt() {
        let files = [Book.File(place: "1.mp3", name: "1.mp3")]
        let found = book(files, .list("x.m3u"), list: ["1.mp3", "a", "b", "c", "d", "1.mp3", "1.mp3"])
        let doubts: [String] = [
            "book: the list names 4 files that are not there, such as a", "book: the list names 1.mp3 more than once",
        ]
        #expect(found.doubts == doubts, "\(found.doubts)")
    }

    @Test func filesThatCannotBeReadAreDoubts() {
        var broken = Book.File(place: "book/b.mp3", name: "b.mp3")
        broken.problem = "empty_input, the file is empty"
        let found = book([file("a.mp3", track: 1), broken], .tags)
        #expect(found.doubts == ["book/b.mp3: empty_input, the file is empty"])
    }

    @Test(
        arguments: [
            ("3/12", nil, 3, 12), ("03", "12", 3, 12), ("0/0", nil, nil, nil), ("A1", nil, nil, nil),
            (" 4 ", nil, 4, nil), ("4 / 9", nil, 4, 9), ("1 2", nil, nil, nil),
            ("", nil, nil, nil), ("-1", nil, nil, nil), ("99999999999999999999", nil, nil, nil),
        ] as [(String, String?, Int?, Int?)]
    )
    func numbersOfTracksAreRead(text: String, total: String?, number: Int?, count: Int?) {
        let found = Book.Facts.number(text, of: total)
        #expect(found.0 == number && found.1 == count)
    }

    @Test func whatIsOnlyShownDoesNotChangeTheOrder() {
        var found = book(["1.mp3", "2.mp3"].map { Book.File(place: "book/\($0)", name: $0) }, .names)
        found.show([file("1.mp3", track: 2), file("2.mp3", track: 1), file("3.mp3", track: 3)])
        #expect(names(found) == ["1.mp3", "2.mp3"] && found.files.map(\.track) == [2, 1] && found.doubts == [])
    }

    @Test func chaptersFollowOneAnother() throws {
        var (one, two) = (file("1 one.mp3", track: 1), file("2 two.mp3", track: 2))
        one.facts?.length = MediaTime(value: 10, timescale: 1)
        two.facts?.length = MediaTime(value: 30, timescale: 1)
        two.facts?.chapters = [
            ChapterReport(start: .zero, end: MediaTime(value: 20, timescale: 1), title: "First"),
            ChapterReport(
                start: MediaTime(value: 20, timescale: 1),
                end: MediaTime(value: 30, timescale: 1),
                title: "Second"
            ),
        ]
        let chapters = [one, two].chapters(marking: true, gap: MediaTime(value: 2, timescale: 1))
        #expect(chapters.map(\.title) == ["1 one", "First", "Second"])
        #expect(chapters.map { $0.start?.seconds } == [0, 12, 32])
        #expect(chapters.map { $0.length?.seconds } == [10, 20, 10] && chapters.map(\.file) == [0, 1, 1])
        #expect([one, two].length?.seconds == 40)
        one.facts?.length = nil
        #expect([one, two].chapters(marking: true).map { $0.start?.seconds } == [0, nil, nil])
        #expect([one, two].length == nil)
    }
}
