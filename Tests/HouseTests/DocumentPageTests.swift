import Testing

/// What a page says stands on no other page: a reader would have to compare the two, and a change would miss one.
struct DocumentPageTests {
    /// Shorter sentences are often the same by chance.
    private static let leastWords = 10

    @Test func noSentenceStandsOnTwoPages() throws {
        var pages: [String: Set<String>] = [:]
        for (path, text) in try DocumentPages().texts {
            for sentence in DocumentPages.sentences(of: text, least: Self.leastWords) {
                pages[sentence, default: []].insert(path)
            }
        }
        #expect(pages.count > 1000)
        let repeated: [String] = pages.filter { $0.value.count > 1 }.map { sentence, paths in
            "\(paths.sorted().joined(separator: ", ")): \(sentence)"
        }
        #expect(repeated.sorted() == [])
    }

    @Test func sentencesAreFoundWithoutMarks() {
        let page = """
            # A heading of a page that has more words than ten in it

            A *root* names a `folder`, and each [worker](a.md#b) maps it
            to a path. Short one.

            | a table of many words is not prose and counts for nothing here |

            ```sh
            a block of code has as many words as it likes to have
            ```

            <!-- codes: made from the code -->
            A sentence that is made of the code may stand on another page too.
            <!-- codes: end -->

            1. An item of a list is a sentence of its own, too, here.
            """
        #expect(
            DocumentPages.sentences(of: page, least: 10) == [
                "a root names a folder and each worker maps it to a path",
                "an item of a list is a sentence of its own too here",
            ]
        )
    }

    @Test func everyLinkToAPageLeadsToOne() throws {
        let pages = try DocumentPages()
        let root = try SourceTree()
        var broken: [String] = []
        for path in pages.texts.keys {
            for target in pages.links(from: path) where !root.hasFile(target) { broken.append("\(path): \(target)") }
        }
        #expect(broken.sorted() == [])
    }

    /// An anchor is a heading, or a mark in HTML.
    @Test func everyAnchorExists() throws {
        let pages = try DocumentPages()
        let anchors = pages.texts.mapValues(Self.anchors)
        var broken: [String] = []
        for (path, text) in pages.texts {
            for link in text.matches(of: /\]\(([^)#\s]*\.md|)#([^)\s]+)\)/) {
                let target = link.output.1.isEmpty ? path : pages.path(String(link.output.1), from: path)
                guard let known = anchors[target] else { continue }
                if !known.contains(String(link.output.2)) { broken.append("\(path): \(target)#\(link.output.2)") }
            }
        }
        #expect(broken.sorted() == [])
    }

    /// Anchors as code hosts make them of headings: small letters, without punctuation, dashes for spaces.
    private static func anchors(of text: String) -> Set<String> {
        var found = Set(text.matches(of: /<a id="([^"]+)">/).map { String($0.output.1) })
        for line in text.split(separator: "\n") {
            guard let heading = line.firstMatch(of: /^#{1,6} (.+)$/) else { continue }
            let title: String = heading.output.1.replacing(/\]\([^)]*\)/, with: "").lowercased()
            let letters = title.filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" }
            found.insert(letters.replacing(" ", with: "-"))
        }
        return found
    }
}
