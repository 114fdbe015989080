import Conversion

/// The frames of an ID3v2 tag that hold text. A frame may hold several values, and TXXX frames may share a name.
enum ID3Frames {
    /// Collects the texts of the tag at `place`, if there is one.
    static func collect(in source: ByteSource, at place: Int64, into collector: inout TagCollector) {
        guard let tag = StoredTag(in: source, at: place) else { return }
        tag.each { name, frame, start, size in
            guard holdsText(name), size > 1, !isSealed(frame, tag.version), collector.takes(size),
                var text = tag.read(start, Int(size)), text.count == Int(size)
            else { return }
            if tag.isUnsynchronised || tag.version == 4 && frame[9] & 2 != 0 { text = resynchronised(text) }
            text = Array(text.dropFirst(addedBytes(frame, tag.version)))
            add(text, of: name, tag.version == 4 ? .id3 : .id3v23, to: &collector)
        }
    }

    /// Names the frames of the tag at `place` that hold neither text nor pictures nor chapters.
    static func findUnread(in source: ByteSource, at place: Int64, _ parts: inout UnreadParts) {
        guard let tag = StoredTag(in: source, at: place) else {
            let head = source.bytes(at: place, count: 10) ?? []
            if head.count == 10, head.starts(with: Array("ID3".utf8)), ID3Number.value(head[6..<10]) > 0 {
                let isTooLong = (2...4).contains(head[3])
                parts.add(isTooLong ? "ID3 tag of more than 16 MiB" : "ID3 tag of version 2.\(head[3])")
            }
            return
        }
        var tables = 0
        tag.each { name, frame, start, size in
            let isUnread: Bool
            switch name {
            case "APIC", "PIC": isUnread = false
            case "CHAP", "CTOC":
                tables += name == "CTOC" ? 1 : 0
                isUnread = name == "CTOC" && tables > 1 || isSealed(frame, tag.version)
                if !isUnread { tag.findUnread(inside: name, frame, start, size, &parts) }
            case "WXXX", "WXX": isUnread = true
            case "UFID", "UFI":
                let owner = (tag.read(start, Int(min(size, 256))) ?? []).prefix { $0 != 0 }
                let native = "UFID:" + String(decoding: owner, as: UTF8.self)
                isUnread = TagTable.name(of: native, in: tag.version == 4 ? .id3 : .id3v23).rowName == nil
            default: isUnread = !holdsText(name) || isSealed(frame, tag.version)
            }
            if isUnread { parts.add("frame \(name)") }
        }
    }

    /// Longer tags with unsynchronisation stay as libav tells them.
    private static let longestTag: Int64 = 16 << 20

    /// A tag as it lies in a file.
    private struct StoredTag {
        let version: UInt8
        /// Whether the content of each frame still has the zeros that keep players from taking it for sound.
        let isUnsynchronised: Bool
        /// Gives up to so many of the bytes behind the head, from a place on.
        let read: (_ start: Int64, _ count: Int) -> [UInt8]?
        private let end: Int64
        private let flags: UInt8

        /// `nil` if there is none at `place`.
        init?(in source: ByteSource, at place: Int64) {
            guard let head = source.bytes(at: place, count: 10), head.count == 10,
                head.starts(with: Array("ID3".utf8)), (2...4).contains(head[3])
            else { return nil }
            (version, flags) = (head[3], head[5])
            let size = ID3Number.value(head[6..<10])
            // Before version 4, sizes of frames do not count the zeros that this puts in.
            guard flags & 0x80 != 0, version < 4 else {
                (isUnsynchronised, end) = (flags & 0x80 != 0, size)
                read = { source.bytes(at: place + 10 + $0, count: $1) }
                return
            }
            guard size > 0, size <= longestTag, let stored = source.bytes(at: place + 10, count: Int(size)) else {
                return nil
            }
            let plain = resynchronised(stored)
            (isUnsynchronised, end) = (false, Int64(plain.count))
            read = { start, count in
                start < Int64(plain.count) ? Array(plain[Int(start)...].prefix(count)) : nil
            }
        }

        typealias Visit = (_ name: String, _ head: [UInt8], _ start: Int64, _ size: Int64) -> Void

        /// Calls `visit` with the name and the head of each frame, where its content begins, and its size.
        func each(_ visit: Visit) {
            var start: Int64 = 0
            if flags & 0x40 != 0, version > 2, let extended = read(start, 4), extended.count == 4 {
                start += version == 4 ? ID3Number.value(extended) : 4 + bigEndian(extended)
            }
            each(from: start, to: end, read, visit)
        }

        private func each(
            from start: Int64,
            to end: Int64,
            _ read: (_ start: Int64, _ count: Int) -> [UInt8]?,
            _ visit: Visit
        ) {
            var next = start
            let headBytes: Int64 = version == 2 ? 6 : 10
            for _ in 0..<TagCollector.mostValues {
                guard next + headBytes <= end, let frame = read(next, Int(headBytes)),
                    frame.count == Int(headBytes), frame[0] != 0
                else { return }
                let start = next + headBytes
                let size = ID3Number.sizeOfFrame(frame, version: version, at: start, before: end, read)
                guard size <= end - start else { return }
                let name = String(decoding: frame[..<(version == 2 ? 3 : 4)], as: UTF8.self)
                visit(name, frame, start, size)
                next = start + size
            }
        }

        /// Names the frames inside of a chapter or a table of chapters, apart from the title of a chapter.
        func findUnread(
            inside outer: String,
            _ frame: [UInt8],
            _ start: Int64,
            _ size: Int64,
            _ parts: inout UnreadParts
        ) {
            let added = Int64(addedBytes(frame, version))
            var (from, end, bytes) = (start + added, start + size, read)
            if isUnsynchronised || version == 4 && frame[9] & 2 != 0 {
                guard size - added <= longestTag, let stored = read(from, Int(max(0, size - added))) else {
                    return parts.add("frame \(outer)")
                }
                let plain = resynchronised(stored)
                (from, end) = (0, Int64(plain.count))
                bytes = { $0 < Int64(plain.count) ? Array(plain[Int($0)...].prefix($1)) : nil }
            }
            guard from < end, let head = bytes(from, Int(min(end - from, ID3Frames.longestHead))),
                let inner = ID3Frames.innerFrames(behind: head, of: outer)
            else { return parts.add("frame \(outer)") }
            var found: [String] = []
            each(from: from + Int64(inner), to: end, bytes) { name, _, _, _ in
                if outer == "CTOC" || name != "TIT2" { found.append(name) }
            }
            for name in found { parts.add("frame \(name) in \(outer)") }
        }
    }

    /// What a chapter or a table has in front of its frames. A table has up to 255 names.
    private static let longestHead: Int64 = 64 << 10

    /// Where the frames in a chapter or a table begin; `nil` if that is further away. A chapter has a name, two times and
    /// two places. A table has a name, flags, and the names of its chapters.
    private static func innerFrames(behind head: [UInt8], of outer: String) -> Int? {
        guard let end = head.firstIndex(of: 0) else { return nil }
        if outer == "CHAP" { return end + 1 + 16 }
        guard end + 2 < head.count else { return nil }
        var place = end + 3
        for _ in 0..<head[end + 2] {
            guard place < head.count, let next = head[place...].firstIndex(of: 0) else { return nil }
            place = next + 1
        }
        return place
    }

    /// Collects those in the `id3 ` chunk of a WAV or AIFF file.
    static func collect(in chunks: Chunks, of source: ByteSource, into collector: inout TagCollector) {
        if let tag = place(in: chunks, of: source) { collect(in: source, at: tag, into: &collector) }
    }

    /// The same as `findUnread(in:at:_:)` for the `id3 ` chunk.
    static func findUnread(in chunks: Chunks, of source: ByteSource, _ parts: inout UnreadParts) {
        guard let tag = place(in: chunks, of: source) else { return }
        findUnread(in: source, at: tag, &parts)
        var isFirst = true
        chunks.each(in: source) { name, _, _ in
            guard isChunk(name) else { return true }
            if !isFirst { parts.add("second ID3 tag") }
            isFirst = false
            return true
        }
    }

    /// Where the content of the `id3 ` chunk begins; `nil` if there is none.
    private static func place(in chunks: Chunks, of source: ByteSource) -> Int64? {
        var tag: Int64?
        chunks.each(in: source) { name, place, _ in
            if isChunk(name) { tag = place }
            return tag == nil
        }
        return tag
    }

    /// Whether a chunk of this name is a tag.
    static func isChunk(_ name: ArraySlice<UInt8>) -> Bool {
        name.elementsEqual("id3 ".utf8) || name.elementsEqual("ID3 ".utf8)
    }

    /// Whether a frame is compressed or encrypted. A few bytes may unpack to gigabytes.
    private static func isSealed(_ frame: [UInt8], _ version: UInt8) -> Bool {
        switch version {
        case 2: false
        case 3: frame[9] & 0xC0 != 0
        default: frame[9] & 0x0C != 0
        }
    }

    /// The bytes in front of a frame's content: the number of its group, and the length of its data.
    private static func addedBytes(_ frame: [UInt8], _ version: UInt8) -> Int {
        switch version {
        case 2: 0
        case 3: frame[9] & 0x20 != 0 ? 1 : 0
        default: (frame[9] & 0x40 != 0 ? 1 : 0) + (frame[9] & 1 != 0 ? 4 : 0)
        }
    }

    /// Frames with texts and links, and others of which the table has a name.
    private static func holdsText(_ name: String) -> Bool {
        name.hasPrefix("T") || name.hasPrefix("W") || others.contains(name)
    }

    private static let others: Set<String> = [
        "COMM", "COM", "USLT", "ULT", "UFID", "UFI", "IPLS", "IPL", "MVNM", "MVIN", "GRP1", "PCST",
    ]

    private static func add(
        _ content: [UInt8],
        of name: String,
        _ format: TagFormat,
        to collector: inout TagCollector
    ) {
        switch name {
        case "UFID", "UFI": addIdentifier(content, format, to: &collector)
        // Apple's mark of a podcast holds nothing.
        case "PCST": collector.add(["1"], native: name, in: format)
        case "WXXX", "WXX": return
        case "COMM", "COM", "USLT", "ULT":
            // A language, and a text that describes the next one. Programs write data under descriptions of their own.
            guard content.count > 4 else { return }
            let texts = ID3Text.values(content.dropFirst(4), encoding: content[0])
            if texts.first == "" { collector.add(Array(texts.dropFirst()), native: name, in: format) }
        case _ where name.hasPrefix("W"):
            collector.add(ID3Text.values(content[...], encoding: 0), native: name, in: format)
        default:
            guard let encoding = content.first else { return }
            addTexts(ID3Text.values(content.dropFirst(), encoding: encoding), of: name, format, to: &collector)
        }
    }

    private static func addTexts(
        _ values: [String],
        of name: String,
        _ format: TagFormat,
        to collector: inout TagCollector
    ) {
        switch name {
        case "TXXX", "TXX":
            // The first text names the others.
            guard let own = values.first, !own.isEmpty, own.utf8.count <= TagCollector.longestName else { return }
            collector.add(Array(values.dropFirst()), native: "TXXX:" + own, in: format)
        case "TIPL", "TMCL", "IPLS", "IPL":
            for place in stride(from: 0, to: values.count - 1, by: 2) {
                addPerson(values[place + 1], as: values[place], format, to: &collector)
            }
        case "TCON", "TCO": collector.add(ID3Genres.names(values), native: name, in: format)
        default: collector.add(values, native: name, in: format)
        }
    }

    /// Lists of people hold roles and names. Who has a role without a tag of its own is a performer.
    private static func addPerson(
        _ person: String,
        as role: String,
        _ format: TagFormat,
        to collector: inout TagCollector
    ) {
        guard !person.isEmpty, role.utf8.count <= TagCollector.longestName else { return }
        let list = format == .id3 ? "TIPL" : "IPLS"
        let own = list + ":" + role
        if TagTable.name(of: own, in: format).rowName != nil { return collector.add([person], native: own, in: format) }
        let isPlain = role.isEmpty || role.lowercased() == "performer"
        let text = isPlain ? person : "\(person) (\(role))"
        collector.add([text], native: format == .id3 ? "TMCL" : "IPLS", in: format)
    }

    /// An owner, such as the address of a database, and its number for the piece.
    private static func addIdentifier(_ content: [UInt8], _ format: TagFormat, to collector: inout TagCollector) {
        let owner = content.prefix { $0 != 0 }
        guard owner.count <= TagCollector.longestName else { return }
        let native = "UFID:" + String(decoding: owner, as: UTF8.self)
        guard TagTable.name(of: native, in: format).rowName != nil else { return }
        let number = String(decoding: content.dropFirst(owner.count + 1), as: UTF8.self)
        collector.add([number], native: native, in: format)
    }

    /// Reverses unsynchronisation: removes the zeros that keep players from taking tag bytes for sound.
    private static func resynchronised(_ bytes: [UInt8]) -> [UInt8] {
        var plain: [UInt8] = []
        // The byte before in the file counts: of two zeros behind FF, only the first was put in.
        var last: UInt8 = 0
        for byte in bytes {
            if byte != 0 || last != 0xFF { plain.append(byte) }
            last = byte
        }
        return plain
    }
}
