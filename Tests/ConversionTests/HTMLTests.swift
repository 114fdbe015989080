import Conversion
import Testing

@Suite struct HTMLTests {
    @Test(arguments: [
        ("a<script>alert(1)</script>", "a&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("\" onload=\"x", "&quot; onload=&quot;x"),
        ("' onload='x", "&#39; onload=&#39;x"),
        ("&lt;", "&amp;lt;"),
        ("a\u{202E}b\u{0}c\n", "a\\u{202e}b\\u{0}c\\u{a}"),
        ("פרק 12 🎙️", "פרק 12 🎙️"),
    ])
    func `an interpolated text is no markup`(text: String, shown: String) {
        let html: HTML = "<p title=\"\(text)\">\(text)</p>"
        #expect(html.text == "<p title=\"\(shown)\">\(shown)</p>")
    }

    @Test(arguments: [
        ("\"><b>&'", "&quot;&gt;&lt;b&gt;&amp;&#39;"), ("a\u{202E}b\n", "a&#8238;b&#10;"), ("👩\u{200D}🚀", "👩\u{200D}🚀"),
        ("a\u{85}", "a\u{85}"), ("פרק 12", "פרק 12"),
    ])
    func `a form sends the value that it was given`(text: String, written: String) {
        let html: HTML = "<input value=\"\(value: text)\">"
        #expect(html.text == "<input value=\"\(written)\">")
    }

    @Test func `pieces of HTML are markup in others`() {
        let name = "<b>"
        let piece: HTML = "<bdi>\(name)</bdi>"
        let whole: HTML = "<p>\(piece) \(17) \(Int64(18))</p>"
        #expect(whole.text == "<p><bdi>&lt;b&gt;</bdi> 17 18</p>")
        #expect(HTML.joined([piece, "x"], by: ", ").text == "<bdi>&lt;b&gt;</bdi>, x")
        #expect(HTML.all([piece, "x"]).text == "<bdi>&lt;b&gt;</bdi>x")
        #expect(HTML.lines([piece, "x"]).text == "<bdi>&lt;b&gt;</bdi>\nx\n")
    }

    @Test func `the middle of a long text is left out`() {
        let long = String(repeating: "a", count: 6_000) + String(repeating: "e\u{301}", count: 6_000)
        let cut = long.cutInside(to: 100)
        #expect(cut.unicodeScalars.count == 100)
        #expect(cut.hasPrefix("aaa") && cut.hasSuffix("e\u{301}"))
        let name = String(repeating: "a", count: 300) + "/episode.wav"
        let short = name.cutInside(to: 40)
        #expect(short.count == 40 && short.hasPrefix("aaa") && short.hasSuffix("a/episode.wav") && short.contains("…"))
        #expect("short".cutInside(to: 5) == "short")
        // One character of many accents.
        #expect(("e" + String(repeating: "\u{301}", count: 4_000)).cutInside(to: 40).unicodeScalars.count == 40)
    }
}
