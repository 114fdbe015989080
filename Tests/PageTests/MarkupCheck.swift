/// What is wrong with a document, as a browser with a strict policy would see it.
struct MarkupCheck {
    private(set) var mistakes: [String] = []
    private(set) var classes: Set<String> = []
    /// The targets of links and forms.
    private(set) var targets: [String] = []

    private static let void: Set<String> = ["meta", "link", "input", "img", "br", "wbr", "rect", "path"]

    init(_ document: String) {
        var open: [String] = []
        // A browser reads scalars: an accent behind a quotation mark does not make it another character.
        let plain = String(document.unicodeScalars.map { $0.isASCII ? Character($0) : "x" })
        var rest = plain[...]
        while let start = rest.firstIndex(of: "<") {
            rest = rest[rest.index(after: start)...]
            guard let end = rest.firstIndex(of: ">") else {
                mistakes.append("a tag without an end: \(rest.prefix(40))")
                return
            }
            let tag = rest[..<end]
            rest = rest[rest.index(after: end)...]
            if tag.first == "!" { continue }
            if tag.first == "/" {
                let name = String(tag.dropFirst())
                if open.popLast() != name { mistakes.append("</\(name)> ends another element") }
                continue
            }
            let isEmpty = tag.last == "/"
            let name = String(tag.prefix { $0 != " " && $0 != "/" })
            if ["style", "iframe", "object", "base"].contains(name) { mistakes.append("<\(name)>") }
            // The policy permits scripts of this coordinator, and none that stands in a page.
            if name == "script", !tag.hasPrefix("script src=\"/assets/") || !rest.hasPrefix("</script>") {
                mistakes.append("<\(tag)>")
            }
            readAttributes(tag.dropFirst(name.count), of: name)
            if !isEmpty, !Self.void.contains(name) { open.append(name) }
        }
        if !open.isEmpty { mistakes.append("elements without an end: \(open)") }
    }

    private mutating func readAttributes(_ text: Substring, of element: String) {
        var rest = text
        while true {
            rest = rest.drop { $0 == " " || $0 == "/" }
            guard !rest.isEmpty else { return }
            let name = rest.prefix { $0 != "=" && $0 != " " && $0 != "/" }
            rest = rest.dropFirst(name.count)
            if name.hasPrefix("on") || name == "style" { mistakes.append("<\(element) \(name)>") }
            if name.contains(where: { "\"'<".contains($0) }) {
                mistakes.append("<\(element)> has the attribute \(name)")
            }
            guard rest.first == "=" else { continue }
            rest = rest.dropFirst()
            guard rest.first == "\"" else {
                mistakes.append("<\(element) \(name)> has no quotes")
                return
            }
            rest = rest.dropFirst()
            let value = String(rest.prefix { $0 != "\"" })
            rest = rest.dropFirst(value.count + 1)
            switch name {
            case "class": classes.formUnion(value.split(separator: " ").map(String.init))
            case "href", "src", "action":
                targets.append(value)
                if !value.hasPrefix("/") && !value.hasPrefix("#") || value.hasPrefix("//") {
                    mistakes.append("<\(element) \(name)> leads to \(value.prefix(60))")
                }
            default: break
            }
        }
    }
}
