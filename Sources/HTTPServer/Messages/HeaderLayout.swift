/// Where the parts of a request's header lie in the memory into which the library has read it.
///
/// libmicrohttpd 0.9 takes LF alone for the end of a line, and a zero byte for the end of a value, and says nothing of it.
/// But its answers point into what it has read. If a line ended differently, or bytes were left out, the parts do not lie
/// as they do in a header of lines that end with CR and LF.
package struct HeaderLayout: Sendable {
    /// The address and the length of a part.
    package struct Part: Sendable {
        package let start: Int
        package let count: Int

        package init(start: Int, count: Int) { (self.start, self.count) = (start, count) }

        var end: Int { start + count }
    }

    package var method: Part
    /// The bytes of the target as it was sent. The library changes it in place.
    package var targetCount: Int
    package var version: Part
    package var fields: [(name: Part, value: Part)]
    /// Of the header as a whole, with the empty line.
    package var byteCount: Int
    /// The last four bytes. The library puts zeros in the place of each CR and LF.
    package var tail: [UInt8]

    package init(
        method: Part,
        targetCount: Int,
        version: Part,
        fields: [(name: Part, value: Part)],
        byteCount: Int,
        tail: [UInt8]
    ) {
        self.method = method
        self.targetCount = targetCount
        self.version = version
        self.fields = fields
        self.byteCount = byteCount
        self.tail = tail
    }

    /// Whether each byte of the header is accounted for: by a part, by the space or colon between two, or by CR and LF. A
    /// zero byte before LF is not told from CR.
    package var isExact: Bool {
        let (space, lineEnd) = (1, 2)
        guard version.start == method.end + space + targetCount + space else { return false }
        var end = version.end
        for (name, value) in fields {
            // Between name and value are a colon and what blanks the library skips.
            guard name.start == end + lineEnd, value.start > name.end else { return false }
            end = value.end
        }
        return method.start + byteCount == end + 2 * lineEnd && tail == [0, 0, 0, 0]
    }
}
