import Conversion
import Testing

/// Chapters in files of text.
@Suite struct ChapterListTests {
    private func mistake(_ text: String) -> String? {
        do throws(ListMistake) {
            _ = try ChapterList(text)
            return nil
        } catch {
            return error.description
        }
    }

    // MARK: Forms

    @Test func linesAreTimesAndTitles() throws {
        let first = "\u{FEFF}# A book\r\n0:00 One\r\n\r\n  1:02:03.5   The tide, part 2  \n"
        let text = first + "2:00:00\n3:00:00\tWith a tab\n"
        let found = try ChapterList(text).marks
        #expect(found.map(\.title) == ["One", "The tide, part 2", nil, "With a tab"])
        #expect(found.map { $0.start.frames(atRate: 10)?.frames } == [0, 37_235, 72_000, 108_000])
    }

    @Test func labelsOfAudacityAreRead() throws {
        let text = "0.000000\t0.000000\tOne\n\\\t100.0\t200.0\n12.345678\t20.5\tTwo words\n30.1\t30.1\n"
        let found = try ChapterList(text).marks
        #expect(found.map(\.title) == ["One", "Two words", nil])
        #expect(found[1].start == MediaTime(value: 12_345_678, timescale: 1_000_000))
    }

    @Test func numbersBehindATabAreTitles() throws {
        let found = try ChapterList("0:00\t1984\n1:00:00\t2001\n2:00:00\tAlien\n").marks
        #expect(found.map(\.title) == ["1984", "2001", "Alien"])
        // Audacity writes the second tab also without a title.
        #expect(try ChapterList("1.500000\t2.500000\t\n").marks.map(\.title) == [nil])
    }

    @Test func metadataOfFFmpegIsRead() throws {
        let text = """
            ;FFMETADATA1
            title=Book
            [CHAPTER]
            TIMEBASE=1/1000
            START=0
            END=400
            title=One \\= \\; first\\
            and more \\\\
            [STREAM]
            title=none
            [CHAPTER]
            START=1500000000
            END=2000000000
            [CHAPTER]
            TIMEBASE=1/44100
            START=88201
            title=Three
            """
        let found = try ChapterList(text).marks
        #expect(found.map(\.title) == ["One = ; first\nand more \\", nil, "Three"])
        #expect(found[1].start == MediaTime(value: 3, timescale: 2))
        #expect(found[2].start == MediaTime(frames: 88_201, rate: 44_100))
    }

    @Test func captionsAreRead() throws {
        let text = """
            WEBVTT - chapters

            NOTE nothing

            1
            00:00.000 --> 00:05.000 line:0
            One
            and more

            00:01:05.250 --> 00:02:00.000
            Two
            00:02:00.000 --> 00:03:00.000
            Three
            """
        let found = try ChapterList(text).marks
        #expect(found.map(\.title) == ["One and more", "Two", "Three"])
        #expect(found[1].start == MediaTime(value: 65_250, timescale: 1_000))
    }

    /// Times of CUE sheets are 75ths of a second, which are kept exactly.
    @Test func sheetsAreRead() throws {
        let text = """
            REM GENRE Jazz
            TITLE "The record"
            FILE "a.wav" WAVE
              TRACK 01 AUDIO
                TITLE "First \u{201C}one\u{201D}"
                INDEX 01 00:00:00
              TRACK 02 AUDIO
                PERFORMER "Somebody"
                INDEX 00 04:10:00
                INDEX 01 04:12:74
              TRACK 03 AUDIO
                TITLE Third
                INDEX 01 75:00:01
            """
        let found = try ChapterList(text).marks
        #expect(found.map(\.title) == ["First \u{201C}one\u{201D}", nil, "Third"])
        #expect(found[1].start == MediaTime(value: 252 * 75 + 74, timescale: 75))
        #expect(found[2].start == MediaTime(value: 4_500 * 75 + 1, timescale: 75))
    }

    // MARK: Mistakes

    @Test func mistakesNameTheirLine() {
        #expect(mistake("0:00 One\nsoon Two")?.hasPrefix("line 2: \"soon\" is not a time") == true)
        #expect(mistake("0:05 One\n0:05 Two")?.hasPrefix("line 2: ") == true)
        #expect(mistake("-1 One")?.hasPrefix("line 1: ") == true)
        #expect(mistake("") == "line 1: the file has no chapters")
        #expect(mistake("# nothing\n")?.hasSuffix("the file has no chapters") == true)
        let base = mistake(";FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/0\nSTART=1\n")
        #expect(base == "line 2: the chapter has no START, or its TIMEBASE is not two whole numbers, as in 1/1000")
        #expect(mistake(";FFMETADATA1\n[CHAPTER]\ntitle=x\n")?.hasPrefix("line 2: ") == true)
        #expect(mistake("WEBVTT\n\nnow --> later\nx\n")?.hasPrefix("line 3: ") == true)
        #expect(mistake("FILE a WAVE\nTRACK 01 AUDIO\nINDEX 01 00:60:00")?.hasPrefix("line 3: ") == true)
        #expect(mistake("FILE a WAVE\nTRACK 01 AUDIO\nINDEX 01 00:00:00\nFILE b WAVE")?.hasPrefix("line 4: ") == true)
        let long = String(repeating: "x", count: ChapterList.longestTitle + 1)
        #expect(mistake("0:00 " + long)?.hasPrefix("line 1: a title is longer") == true)
    }

    @Test func moreChaptersThanAnyContainerHoldsAreRefused() {
        let lines = (0...ChapterList.most).map { "\($0) x" }
        #expect(mistake(lines.joined(separator: "\n"))?.hasSuffix("more than 65535 chapters") == true)
    }
}
