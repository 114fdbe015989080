import Conversion
import Testing

/// Tags in files of text.
@Suite struct TagListTests {
    private func texts(_ text: String) throws -> [String] { try TagList(text).entries.map { $0.name + "|" + $0.value } }

    private func mistake(_ text: String) -> String? {
        do throws(ListMistake) {
            _ = try TagList(text)
            return nil
        } catch {
            return error.description
        }
    }

    @Test func linesAreNamesAndValues() throws {
        let first = "\u{FEFF}# An album\r\nALBUM=The harbour\r\n\r\n artist = Ada = Bob \nMOOD=\n"
        let text = first + "My Field=a\u{2028}b\rEND=x"
        let wanted = ["ALBUM|The harbour", "artist|Ada = Bob", "MOOD|", "My Field|a\u{2028}b", "END|x"]
        #expect(try texts(text) == wanted)
    }

    /// A backslash at the end of a line joins it with the next one. Sections are of chapters and streams.
    @Test func metadataOfFFmpegIsRead() throws {
        let text = """
            ;FFMETADATA1
            title=One \\= \\; first
            ; a comment
            lyrics=La\\
            Lo\\\\
            a\\=b=c
            [CHAPTER]
            START=0
            title=none
            """
        #expect(try texts(text) == ["title|One = ; first", "lyrics|La\nLo\\", "a=b|c"])
    }

    @Test func mistakesNameTheirLine() {
        #expect(mistake("A=1\nALBUM") == "line 2: must be NAME=VALUE")
        #expect(mistake(";FFMETADATA1\na\\=b") == "line 2: must be NAME=VALUE")
        #expect(mistake(" =x") == "line 1: the name is missing before the =")
        #expect(mistake("A=\0") == "line 1: a tag cannot hold a zero byte")
        #expect(mistake("") == "line 1: the file has no tags")
        #expect(mistake(";FFMETADATA1\n[CHAPTER]\ntitle=x")?.hasSuffix("the file has no tags") == true)
    }

    @Test func namesMayHaveSeveralValues() throws {
        #expect(try texts("ARTIST=One\n\nartist=Two") == ["ARTIST|One", "artist|Two"])
        #expect(try texts(";FFMETADATA1\nartist=One\nartist=Two") == ["artist|One", "artist|Two"])
    }

    /// Lines that go on with nothing behind them.
    @Test func lastLineMayEndInABackslash() throws {
        #expect(try texts(";FFMETADATA1\na=b\\") == ["a|b"])
        #expect(try texts(";FFMETADATA1\na=b\\\n") == ["a|b\n"])
    }
}
