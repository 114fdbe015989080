/// A request without its body.
package struct RequestHead: Sendable, Hashable {
    /// A field of the header. The name is in lower case.
    package struct Field: Sendable, Hashable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) { (self.name, self.value) = (name.lowercased(), value) }
    }

    package let method: String
    /// The path's parts between slashes, decoded. `/api/v1/jobs` has three.
    package let path: [String]
    /// The query's parameters in their order, decoded.
    package let query: [(name: String, value: String)]
    package let fields: [Field]
    /// The network of the client; empty for a socket of this machine.
    package var network = ""

    /// `nil` if the target cannot be decoded: a broken escape, bytes that are not UTF-8, a zero byte.
    package init?(method: String, target: String, fields: [Field]) {
        self.method = method
        self.fields = fields
        let halves = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = halves.first, first.utf8.first == UInt8(ascii: "/") else { return nil }
        var path: [String] = []
        for part in first.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            guard let decoded = Self.decode(part, plusIsSpace: false) else { return nil }
            path.append(decoded)
        }
        self.path = path
        var query: [(String, String)] = []
        if halves.count > 1 {
            for item in halves[1].split(separator: "&") {
                let sides = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard let name = Self.decode(sides[0], plusIsSpace: true),
                    let value = Self.decode(sides.count > 1 ? sides[1] : "", plusIsSpace: true)
                else { return nil }
                query.append((name, value))
            }
        }
        self.query = query
    }

    /// The value of a field; `nil` if it is missing. Names are in lower case.
    package func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }

    /// The length of the body that the request announces; zero without one.
    package var bodyLength: Int64 { field("content-length").flatMap(Int64.init) ?? 0 }

    /// The type of the body without its parameters, in lower case.
    package var bodyType: String? {
        field("content-type").map { value in
            value.prefix { $0 != ";" }.trimmingSpaces.lowercased()
        }
    }

    package static func == (one: RequestHead, other: RequestHead) -> Bool {
        one.method == other.method && one.path == other.path && one.fields == other.fields
            && one.query.elementsEqual(other.query) { $0 == $1 }
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(method)
        hasher.combine(path)
    }

    /// The name of a host without its port, as in `Host` and `Origin`; the brackets of an IPv6 address stay.
    package static func hostName(_ authority: String) -> String {
        guard let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") else { return authority }
        return String(authority[..<colon])
    }

    /// Whether a field such as `If-None-Match` names an entity tag, or all. With `weakly` also if it is marked as weak.
    package func names(_ tag: String, in field: String, weakly: Bool) -> Bool {
        guard let value = self.field(field) else { return false }
        return value.split(separator: ",").contains { item in
            let item = item.trimmingSpaces
            return item == tag || item == "*" || weakly && item == "W/" + tag
        }
    }

    private static func decode(_ text: Substring, plusIsSpace: Bool) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var rest = text.utf8.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.next()?.hexadecimalValue, let low = rest.next()?.hexadecimalValue else {
                    return nil
                }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        guard !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate var hexadecimalValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension Substring {
    /// Without spaces and tabs at both ends.
    package var trimmingSpaces: Substring {
        let isSpace = { (letter: Character) in letter == " " || letter == "\t" }
        var text = drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return text
    }
}
