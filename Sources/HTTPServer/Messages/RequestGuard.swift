/// Refuses requests whose shape one program reads in one way and another program in another way.
///
/// Behind a proxy, such a request can carry a second one that the proxy has not seen. Our clients never send one, so
/// nothing ambiguous is repaired.
package enum RequestGuard {
    /// What the server's library has read, before anything was decoded.
    package struct Raw: Sendable {
        package var version: String
        package var method: String
        package var target: String
        /// Names as they were sent.
        package var fields: [(name: [UInt8], value: [UInt8])]
        /// Where all of this lay; `nil` if the library refuses by itself what only this shows.
        package var layout: HeaderLayout?

        package init(
            version: String,
            method: String,
            target: String,
            fields: [(name: [UInt8], value: [UInt8])],
            layout: HeaderLayout? = nil
        ) {
            (self.version, self.method, self.target, self.fields) = (version, method, target, fields)
            self.layout = layout
        }
    }

    /// The head of a request that is beyond doubt, or the answer to one that is not. The connection must then be closed.
    package static func check(_ raw: Raw) -> Result<RequestHead, Refusal> {
        guard raw.layout?.isExact ?? true else {
            return .failure(Refusal("a line of the header does not end with CR LF, or holds a zero byte"))
        }
        guard raw.version == "HTTP/1.1" else { return .failure(Refusal("only HTTP/1.1 is spoken here")) }
        guard !raw.method.isEmpty, raw.method.utf8.allSatisfy({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) })
        else { return .failure(Refusal("the method is not a word of capital letters")) }
        guard raw.target.utf8.first == UInt8(ascii: "/") else {
            return .failure(Refusal("the target does not begin with /"))
        }
        guard raw.target.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            return .failure(Refusal("the target holds a byte that must be escaped"))
        }
        var fields: [RequestHead.Field] = []
        for (name, value) in raw.fields {
            guard !name.isEmpty, name.allSatisfy(isTokenByte) else {
                return .failure(Refusal("the name of a header field is not a token"))
            }
            // This is also how a folded line shows.
            guard value.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }) else {
                return .failure(Refusal("the value of a header field holds a control character"))
            }
            let name = String(decoding: name, as: UTF8.self).lowercased()
            fields.append(.init(name, String(decoding: value, as: UTF8.self)))
        }
        func count(_ name: String) -> Int { fields.count { $0.name == name } }
        guard count("host") == 1 else { return .failure(Refusal("there must be one Host field")) }
        guard count("authorization") <= 1 else {
            return .failure(Refusal("there is more than one Authorization field"))
        }
        guard count("transfer-encoding") == 0 else {
            return .failure(
                Refusal("bodies must have a Content-Length; Transfer-Encoding is not read", .lengthRequired)
            )
        }
        switch count("content-length") {
        case 0: break
        case 1:
            let text = fields.first { $0.name == "content-length" }?.value ?? ""
            guard (1...18).contains(text.utf8.count),
                text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
            else { return .failure(Refusal("Content-Length is not a number")) }
        default: return .failure(Refusal("there is more than one Content-Length"))
        }
        guard let head = RequestHead(method: raw.method, target: raw.target, fields: fields) else {
            return .failure(Refusal("the target cannot be decoded"))
        }
        return .success(head)
    }

    package struct Refusal: Error, Sendable {
        package let why: String
        package let status: HTTPStatus

        init(_ why: String, _ status: HTTPStatus = .badRequest) { (self.why, self.status) = (why, status) }
    }

    /// A byte of a token in the sense of RFC 9110.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
