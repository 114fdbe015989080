import Testing

@testable import Console

/// Decodes keys from the bytes that terminals send.
struct KeyReaderTests {
    private func keys(_ text: String) -> [Key] {
        var reader = KeyReader()
        return reader.take(text.utf8)
    }

    @Test func sequencesOfSeveralTerminalsAreKnown() {
        #expect(keys("\u{1B}[A\u{1B}OB\u{1B}[C\u{1B}OD") == [.up, .down, .right, .left])
        #expect(
            keys("\u{1B}[5~\u{1B}[6~\u{1B}[H\u{1B}[4~\u{1B}OF\u{1B}[1~") == [
                .pageUp, .pageDown, .home, .end, .end, .home,
            ]
        )
        #expect(
            keys("\u{1B}[3~\u{1B}[Z\t\r\n\u{7F}\u{8}") == [
                .delete, .backTab, .tab, .enter, .enter, .backspace, .backspace,
            ]
        )
        #expect(keys("\u{1B}[1;5C") == [.right])
        let typed: [Key] = [.character("a"), .character("é"), .character("講"), .character("😀"), .control("l")]
        #expect(keys("aé講😀\u{C}") == typed)
    }

    @Test func whatIsUnknownIsNoCommand() {
        #expect(keys("\u{1B}[31;4u") == [])
        #expect(keys("\u{1B}c") == [])
        #expect(keys("\u{0}\u{1C}") == [])
        var reader = KeyReader()
        #expect(reader.take([0xFF, 0xC3, 0x28, UInt8(ascii: "a")]) == [.character("("), .character("a")])
        // An unterminated sequence does not swallow later keys for ever.
        #expect(reader.take([0x1B, UInt8(ascii: "[")] + [UInt8](repeating: UInt8(ascii: "1"), count: 40)).isEmpty)
        #expect(reader.take([UInt8(ascii: "q")]) == [.character("q")])
    }

    @Test func bytesComeInAnyPieces() {
        let text = "\u{1B}[A講\u{1B}[200~y\u{1B}[20\u{1B}[201~\u{1B}[6~q"
        let whole = keys(text)
        #expect(whole == [.up, .character("講"), .paste("y\u{1B}[20"), .pageDown, .character("q")])
        var reader = KeyReader()
        let bytewise: [Key] = text.utf8.flatMap { reader.take([$0]) }
        #expect(bytewise == whole)
    }

    @Test func escapeAloneIsAKeyOnceNothingFollows() {
        var reader = KeyReader()
        #expect(reader.take([0x1B]).isEmpty && reader.isWaiting)
        #expect(reader.flush() == [.escape] && !reader.isWaiting)
        #expect(reader.take([0x1B, 0x1B]) == [.escape])
        #expect(reader.flush() == [.escape])
        #expect(reader.take("\u{1B}[200~half".utf8).isEmpty && !reader.isWaiting && reader.flush().isEmpty)
        #expect(reader.take("\u{1B}[201~".utf8) == [.paste("half")])
    }
}
