/// An element of an XML document: what answers of object stores consist of. Attributes and name spaces do not count.
package struct XMLElement: Sendable, Hashable {
    /// Without its prefix.
    package let name: String
    package fileprivate(set) var children: [XMLElement] = []
    /// The characters between its children, all together.
    package fileprivate(set) var text = ""

    /// The children of that name, in their order.
    package func all(_ name: String) -> [XMLElement] { children.filter { $0.name == name } }

    /// The first child of that name.
    package subscript(_ name: String) -> XMLElement? { children.first { $0.name == name } }

    /// The text of the first child of that name; `nil` if there is none.
    package func text(of name: String) -> String? { self[name]?.text }
}

/// Why a text is no XML, or more than this program reads.
package struct XMLError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String
    /// The offset of the byte at which reading ended.
    package let place: Int
}

/// Reads XML that a server has sent.
///
/// Written for it because parsers for all of XML read much that an answer never has: declarations of types, entities of
/// the document's own, other encodings. All of these are refused here. Memory grows with the length of the text alone,
/// and no text makes it call itself.
package struct XMLParser: ~Copyable {
    /// Answers have four levels.
    package static let mostLevels = 32
    /// A page of 1,000 objects has some 8,000.
    package static let mostElements = 200_000
    private static let longestName = 256

    private let bytes: [UInt8]
    private var place = 0
    private var elements = 0
    /// The elements that are not closed yet, with the names of their tags and the bytes of their texts.
    private var open: [(element: XMLElement, tag: ArraySlice<UInt8>, text: [UInt8])] = []

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The root element of a document in UTF-8.
    package static func parse(_ bytes: [UInt8]) throws(XMLError) -> XMLElement {
        var parser = XMLParser(bytes)
        return try parser.document()
    }

    private mutating func document() throws(XMLError) -> XMLElement {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { place = 3 }
        var root: XMLElement?
        while place < bytes.count {
            if bytes[place] != UInt8(ascii: "<") {
                try readText()
            } else if skips("<!--") {
                try skip(behind: "-->")
            } else if skips("<![CDATA[") {
                try readCharacterData()
            } else if skips("<?") {
                try skip(behind: "?>")
            } else if bytes[place...].starts(with: "<!".utf8) {
                throw error("it declares a document type, which is not read")
            } else if skips("</") {
                root = try closeTag() ?? root
            } else {
                guard root == nil else { throw error("there is an element behind the root element") }
                place += 1
                root = try openTag()
            }
        }
        guard open.isEmpty else { throw error("it ends inside of the element \(open.last?.element.name ?? "")") }
        guard let root else { throw error("it has no element") }
        return root
    }

    // MARK: - Tags

    /// Returns the root element if it is empty.
    private mutating func openTag() throws(XMLError) -> XMLElement? {
        let tag = try name()
        elements += 1
        guard elements <= Self.mostElements else { throw error("it has more than \(Self.mostElements) elements") }
        guard open.count < Self.mostLevels else { throw error("its elements have more than \(Self.mostLevels) levels") }
        let local = tag.lastIndex(of: UInt8(ascii: ":")).map { tag[($0 + 1)...] } ?? tag
        let element = XMLElement(name: try text(local))
        while true {
            skipSpace()
            if skips("/>") {
                guard !open.isEmpty else { return element }
                open[open.count - 1].element.children.append(element)
                return nil
            }
            if skips(">") {
                open.append((element, tag, []))
                return nil
            }
            _ = try name()
            skipSpace()
            guard skips("=") else { throw error("an attribute has no value") }
            skipSpace()
            guard let quote = next, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
                let end = bytes[(place + 1)...].firstIndex(of: quote)
            else { throw error("the value of an attribute has no quotation marks") }
            place = end + 1
        }
    }

    /// Returns the root element if it is the one that ends.
    private mutating func closeTag() throws(XMLError) -> XMLElement? {
        let tag = try name()
        skipSpace()
        guard skips(">"), var last = open.popLast(), last.tag.elementsEqual(tag) else {
            throw error("a tag ends another element than the last one")
        }
        last.element.text = try text(last.text[...])
        guard !open.isEmpty else { return last.element }
        open[open.count - 1].element.children.append(last.element)
        return nil
    }

    private mutating func name() throws(XMLError) -> ArraySlice<UInt8> {
        let start = place
        while let byte = next, Self.isNamed(byte) { place += 1 }
        guard place > start, place - start <= Self.longestName else {
            throw error("there is no name where one must be")
        }
        return bytes[start..<place]
    }

    private static func isNamed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: ":"), 0x80...:
            true
        default: false
        }
    }

    // MARK: - Text

    private mutating func readText() throws(XMLError) {
        while let byte = next, byte != UInt8(ascii: "<") {
            if byte == UInt8(ascii: "&") {
                try add(try reference())
                continue
            }
            let start = place
            while let byte = next, byte != UInt8(ascii: "<"), byte != UInt8(ascii: "&") { place += 1 }
            try add(bytes[start..<place])
        }
    }

    private mutating func readCharacterData() throws(XMLError) {
        let start = place
        try skip(behind: "]]>")
        try add(bytes[start..<(place - 3)])
    }

    private mutating func add(_ bytes: some Collection<UInt8>) throws(XMLError) {
        guard open.isEmpty else {
            open[open.count - 1].text.append(contentsOf: bytes)
            return
        }
        guard bytes.allSatisfy(Self.isSpace) else { throw error("there is text outside of the root element") }
    }

    /// The bytes of a character that a reference names. References to anything else are refused.
    private mutating func reference() throws(XMLError) -> [UInt8] {
        let window = bytes[place..<min(bytes.count, place + 12)]
        guard let end = window.firstIndex(of: UInt8(ascii: ";")) else { throw error("a reference has no end") }
        let word = String(decoding: bytes[(place + 1)..<end], as: UTF8.self)
        let scalar: Unicode.Scalar?
        switch word {
        case "lt": scalar = "<"
        case "gt": scalar = ">"
        case "amp": scalar = "&"
        case "quot": scalar = "\""
        case "apos": scalar = "'"
        case _ where word.hasPrefix("#x"): scalar = UInt32(word.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
        case _ where word.hasPrefix("#"): scalar = UInt32(word.dropFirst()).flatMap(Unicode.Scalar.init)
        default: scalar = nil
        }
        guard let scalar, scalar.value != 0 else { throw error("a reference names no character") }
        place = end + 1
        return Array(String(Character(scalar)).utf8)
    }

    private func text(_ bytes: ArraySlice<UInt8>) throws(XMLError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw error("its text is not UTF-8") }
        return text
    }

    // MARK: - Bytes

    private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    private mutating func skipSpace() { while let byte = next, Self.isSpace(byte) { place += 1 } }

    /// Whether the text goes on with `word`, which is then read.
    private mutating func skips(_ word: String) -> Bool {
        guard bytes[place...].starts(with: word.utf8) else { return false }
        place += word.utf8.count
        return true
    }

    private mutating func skip(behind word: String) throws(XMLError) {
        let first = word.utf8.first
        while place < bytes.count {
            if bytes[place] == first, skips(word) { return }
            place += 1
        }
        throw error("it ends before \(word)")
    }

    private func error(_ text: String) -> XMLError { XMLError(description: text, place: place) }
}
