import Conversion
import Testing

/// CUE sheets, as programs that read discs write them.
struct CueListTests {
    private static let text = """
        REM GENRE "Free Jazz"
        REM DATE 1999
        PERFORMER "Ada"
        TITLE "The record"
        FILE "C:\\rips\\One.wav" WAVE
          TRACK 01 AUDIO
            TITLE "First"
            PERFORMER "Eve"
            ISRC DEA061200001
            PREGAP 00:02:00
            INDEX 01 00:00:32
          TRACK 02 AUDIO
            INDEX 00 04:10:00
        FILE Two.wav WAVE
            INDEX 01 00:00:00
          TRACK xx AUDIO
            TITLE ""
            INDEX 01 75:00:01
        """

    @Test func sheetsSayWhatTracksAndTheDiscAre() throws {
        let sheet = try CueList(Self.text)
        #expect(sheet.title == "The record" && sheet.performer == "Ada")
        #expect(sheet.date == "1999" && sheet.genre == "Free Jazz")
        #expect(sheet.files.map(\.name) == ["C:\\rips\\One.wav", "Two.wav"])
        #expect(sheet.tracks.map(\.number) == [1, 2, nil])
        #expect(sheet.tracks.map(\.title) == ["First", nil, nil])
        #expect(sheet.tracks.map(\.performer) == ["Eve", nil, nil])
        #expect(sheet.tracks.map(\.isrc) == ["DEA061200001", nil, nil])
        let starts: [MediaTime] = sheet.tracks.map(\.start)
        #expect(starts[0] == MediaTime(value: 32, timescale: 75) && starts[1] == .zero)
        #expect(starts[2] == MediaTime(value: 4_500 * 75 + 1, timescale: 75))
    }

    @Test func tracksBelongToTheirFiles() throws {
        let sheet = try CueList(Self.text)
        #expect(sheet.tracks(inFile: "one.flac").map(\.number) == [1])
        #expect(sheet.tracks(inFile: "two.flac").map(\.number) == [2, nil])
        #expect(sheet.tracks(inFile: "three.flac").isEmpty)
        let single = try CueList("FILE \"a.wav\" WAVE\nTRACK 01 AUDIO\nINDEX 01 00:00:00")
        #expect(single.tracks(inFile: "renamed.flac").map(\.number) == [1])
    }

    @Test(arguments: ["00:00:75", "00:60:00", "1:2", "a:b:c", "-1:00:00", "9999999:00:00", "9999999999999999999:00:00"])
    func timesThatAreNoneAreMistakes(time: String) {
        let found = #expect(throws: ListMistake.self) { try CueList("TRACK 01 AUDIO\nINDEX 01 \(time)") }
        #expect(found?.line == 2)
    }

    private static let quoted: [(line: String, title: String?)] = [
        (#""The 12" mix""#, #"The 12" mix"#), (#""Open"#, "Open"), (#""A" B"#, "A"), ("Plain  words ", "Plain  words"),
        ("\"\u{301}A\u{308}\"", "\u{301}A\u{308}"), (#"" a ""#, "a"), ("\"", nil),
    ]

    /// Programs write quotation marks as they are.
    @Test(arguments: quoted) func textsEndAtTheLastQuotationMark(line: String, title: String?) throws {
        let text = "FILE \(line) WAVE\nTRACK 01 AUDIO\nTITLE \(line)\nINDEX 01 00:00:00"
        #expect(try CueList(text).tracks.map(\.title) == [title])
        #expect(CueList(tag: text, mostLines: 10).tracks.map(\.title) == [title])
    }

    @Test func allIndexesAreRead() throws {
        let lines = ["TRACK 01 AUDIO", "INDEX 00 00:00:00", "INDEX 01 00:02:00", "INDEX 02 00:03:10", "INDEX x 0:0:0"]
        let sheet = try CueList(lines.joined(separator: "\n"))
        #expect(sheet.indexes.map(\.index) == [0, 1, 2] && sheet.tracks.map(\.line) == [3])
    }

    /// In a tag, a line with a mistake is none. Hostile files have long ones.
    @Test func sheetsInTagsAreReadAsFarAsTheyGo() {
        let text = "TRACK 01 AUDIO\r\nINDEX 01 00:00:75\r\nTRACK 02 AUDIO\r\nINDEX 01 00:01:00\r\nINDEX 02 00:02:00"
        #expect(CueList(tag: text, mostLines: 100).indexes.map(\.number) == [2, 2])
        #expect(CueList(tag: text, mostLines: 4).indexes.map(\.index) == [1])
        #expect(CueList(tag: text, mostLines: 3).indexes.isEmpty)
    }

    /// Old sheets have no Unicode.
    @Test func bytesAreReadInTheirEncoding() {
        let text = "TITLE \"Caf\u{E9} \u{20AC}\""
        #expect(ListBytes.text(of: Array(text.utf8)) == text)
        let western: [UInt8] = Array("TITLE \"Caf".utf8) + [0xE9, 0x20, 0x80, 0x22]
        #expect(ListBytes.text(of: western) == text)
        var (little, big): ([UInt8], [UInt8]) = ([0xFF, 0xFE], [0xFE, 0xFF])
        for unit in text.utf16 {
            let (low, high) = (UInt8(unit & 0xFF), UInt8(unit >> 8))
            little += [low, high]
            big += [high, low]
        }
        #expect(ListBytes.text(of: little) == text && ListBytes.text(of: big) == text)
        #expect(ListBytes.text(of: [0xFF, 0xFE, 0x41]).isEmpty && ListBytes.text(of: []).isEmpty)
    }
}
