import Console
import Conversion

/// What decides the order of a folder's files.
enum BookOrder: Sendable, Hashable {
    /// The numbers of discs and tracks in their tags.
    case tags
    /// Their names, where 2 comes before 10.
    case names
    /// The list of this path.
    case list(String)
}

/// The options that commands have which join folders.
enum BookOptions {
    static let order = Option<BookOrder>(
        "order",
        .bookOrder,
        "order of a folder's files: tags, names, or a list such as FILE.m3u",
        in: .source
    )
    static let strict = Switch(
        "strict",
        "fail if there are doubts, such as a number that no file has",
        in: .source
    )
    static let copyPackets = Switch(
        "copy-packets",
        "copy AAC packets where they can be joined; encode otherwise",
        in: .format
    )
}

extension ValueType where Value == BookOrder {
    /// `tags`, `names`, `list.m3u`
    static let bookOrder = ValueType(
        placeholder: "HOW",
        completion: .suggestions(["tags", "names"].map { .init(word: $0) })
    ) { text throws(Misfit) in
        switch text {
        case "tags": return .tags
        case "names": return .names
        default:
            guard text.contains(".") || text.contains("/") else {
                throw Misfit(why: "is neither tags, names, nor a list of files", hint: "as in --order list.m3u")
            }
            return .list(text)
        }
    }
}

/// The lines of a playlist that name files.
enum PlayList {
    /// The longest list that is read.
    static let mostBytes = 4_000_000

    static func names(in text: String) -> [String] {
        let plain = text.hasPrefix("\u{FEFF}") ? text.dropFirst() : text[...]
        return plain.split { $0 == "\n" || $0 == "\r\n" || $0 == "\r" }.compactMap { line in
            let name = line.drop { $0.isWhitespace }
            return name.isEmpty || name.hasPrefix("#") ? nil : String(name)
        }
    }
}
