import ObjectStorage
import Testing

/// XML as object stores send it, and as an attacker could send it.
struct XMLParserTests {
    private func parse(_ text: String) throws -> XMLElement { try XMLParser.parse(Array(text.utf8)) }

    @Test func elementsTextsAndReferencesAreRead() throws {
        let root = try parse(
            """
            \u{FEFF}<?xml version="1.0" encoding="UTF-8"?>
            <!-- a > comment -->
            <s3:List xmlns:s3="http://a/b>c" empty=''><Key a = "1">a&amp;&lt;&#228;&#x1F600;&quot;&apos;&gt;</Key>
            <Key><![CDATA[<b>&amp;]]> and more</Key><None/><None /></s3:List>

            """
        )
        #expect(root.name == "List")
        #expect(root.all("Key").map(\.text) == ["a&<ä😀\"'>", "<b>&amp; and more"])
        #expect(root.all("None").count == 2)
        #expect(root.text(of: "None") == "")
        #expect(root.text(of: "Key") == "a&<ä😀\"'>")
        #expect(root.text(of: "Other") == nil)
    }

    /// A store sends white space while it puts the parts of an upload together.
    @Test func spaceBeforeTheDocumentIsSkipped() throws {
        #expect(try parse("\n\n   <?xml version=\"1.0\"?>\n  <A/>  ").name == "A")
    }

    @Test(arguments: [
        "", "   ", "text", "<A>", "<A></B>", "<A><B></A></B>", "</A>", "<A/><B/>", "<A/>text", "<A b></A>",
        "<A b=1></A>",
        "<A b=\"1></A>", "<A>&unknown;</A>", "<A>&#0;</A>", "<A>&#xD800;</A>", "<A>&#x110000;</A>", "<A>&amp</A>",
        "<A>& </A>", "<>x</>", "< A/>", "<A><![CDATA[x</A>", "<A><!-- x</A>", "<A", "<A/", "<?xml", "<![CDATA[x]]><A/>",
        "<A>&#99999999999;</A>", "<!", "<A/><", "<A a=", "<A a='",
    ])
    func brokenDocumentsAreRefused(text: String) { #expect(throws: XMLError.self) { try parse(text) } }

    @Test func documentTypesAreRefused() {
        let bombs = [
            "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>",
            "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>",
            "<a><!DOCTYPE b></a>",
            "<!DOCTYPE a [<!ENTITY x SYSTEM \"http://127.0.0.1/\">]><a>&x;</a>",
        ]
        for text in bombs { #expect(throws: XMLError.self) { try parse(text) } }
    }

    @Test func levelsAndElementsAreLimited() throws {
        func nested(_ levels: Int) -> String {
            String(repeating: "<a>", count: levels) + String(repeating: "</a>", count: levels)
        }
        _ = try parse(nested(XMLParser.mostLevels))
        for levels in [XMLParser.mostLevels + 1, 1_000_000] {
            #expect(throws: XMLError.self) { try parse(nested(levels)) }
        }
        let many = String(repeating: "<b/>", count: XMLParser.mostElements)
        #expect(throws: XMLError.self) { try parse("<a>\(many)</a>") }
    }

    @Test func longTextsAreRead() throws {
        let text = String(repeating: "x", count: 4 << 20)
        #expect(try parse("<a><b>\(text)</b></a>").text(of: "b")?.utf8.count == 4 << 20)
        #expect(throws: XMLError.self) { try parse("<\(text)/>") }
    }

    @Test func bytesThatAreNotUTF8AreRefused() {
        #expect(throws: XMLError.self) { try XMLParser.parse(Array("<a>".utf8) + [0xFF, 0xC0] + Array("</a>".utf8)) }
    }

    /// A damaged answer is refused or read, and never ends the process.
    @Test func damagedDocumentsEndNothing() {
        let whole = Array("<?xml version='1.0'?><a x=\"y\"><b>&amp;&#x41;<![CDATA[c]]></b><!-- d --><e/></a>".utf8)
        for end in whole.indices {
            // `try?`: all of them are refused, which is well.
            _ = try? XMLParser.parse(Array(whole[..<end]))
        }
        for place in whole.indices {
            for byte in [UInt8(0), 0x26, 0x3C, 0x3E, 0x2F, 0x21, 0x3F, 0x5B, 0x5D, 0x80, 0xFF] {
                var bytes = whole
                bytes[place] = byte
                // `try?`: most of them are refused, which is well.
                _ = try? XMLParser.parse(bytes)
            }
        }
    }
}
