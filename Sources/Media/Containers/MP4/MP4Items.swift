import Conversion

/// The items of an MP4 file. An item may hold several values, and custom items may share a name.
enum MP4Items {
    static func collect(in source: ByteSource, _ size: Int64, into collector: inout TagCollector) {
        guard let movie = source.box("moov", in: 0..<size), let user = source.box("udta", in: movie),
            let list = list(inUser: user, of: source)
        else { return }
        var found = collector
        var left = TagCollector.mostParts
        let _: Void? = source.eachBox(in: list) { name, item in
            // The first letter of Apple's names is not ASCII.
            var native = name.hasPrefix("\u{FFFD}") ? "©\(name.dropFirst())" : name
            var values: [String] = []
            let _: Void? = source.eachBox(in: item) { part, content in
                left -= 1
                if left < 0 { return () }
                if part == "data", let text = text(source, content, of: name, &found) { values.append(text) }
                if part == "name", let own = own(source, content) { native = "----:" + own }
                return nil
            }
            // Covers are pictures.
            if name != "covr" { found.add(values, native: native, in: .mp4) }
            return left < 0 ? () : nil
        }
        collector = found
    }

    /// The items in a box `udta`.
    private static func list(inUser user: Range<Int64>, of source: ByteSource) -> Range<Int64>? {
        guard let meta = source.box("meta", in: user), meta.upperBound - meta.lowerBound > 4 else { return nil }
        // The content follows version and flags.
        return source.box("ilst", in: (meta.lowerBound + 4)..<meta.upperBound)
    }

    /// Names the items that outputs do not have under their own names.
    static func findUnread(inUser user: Range<Int64>, of source: ByteSource, _ parts: inout UnreadParts) {
        guard let list = list(inUser: user, of: source) else { return }
        var found = parts
        let _: Void? = source.eachBox(in: list) { name, item in
            let native = name.hasPrefix("\u{FFFD}") ? "©\(name.dropFirst())" : name
            if native == "----" {
                if let own = unreadItem(source, item) { found.add("MP4 item \(own)") }
            } else if !ofLibAV.contains(native), !isOfShop(native, item.upperBound - item.lowerBound),
                TagTable.name(of: native, in: .mp4).rowName == nil,
                !["free", "skip"].contains(native), item.upperBound > item.lowerBound
            {
                found.add("MP4 item \(native)")
            }
            return nil
        }
        parts = found
    }

    /// Items that the table does not have, and libav reads and writes, and the covers.
    private static let ofLibAV: Set<String> = [
        "covr", "gnre", "desc", "ldes", "tven", "tvnn", "tves", "tvsn", "keyw", "stik", "hdvd",
    ]

    /// Numbers and texts by which shops know what was sold, and to whom. They say nothing about the sound, and a copy of the
    /// packets has them as they are.
    private static let ofShops: Set<String> = [
        "akID", "apID", "atID", "cmID", "cnID", "flvr", "geID", "ownr", "plID", "purd", "rtng", "sfID", "xid ",
    ]

    /// Bytes of all of these items together, and of one. A name and an address of mail are much shorter.
    private static let (mostKept, longestKept): (Int, Int64) = (16 << 10, 2_048)

    /// The items of shops, in their bytes.
    static func kept(in source: ByteSource, _ size: Int64) -> [UInt8] {
        guard let movie = source.box("moov", in: 0..<size), let user = source.box("udta", in: movie),
            let list = list(inUser: user, of: source)
        else { return [] }
        var kept: [UInt8] = []
        let _: Void? = source.eachBox(in: list) { name, item in
            let length = item.upperBound - item.lowerBound
            guard isOfShop(name, length), kept.count + Int(length) <= mostKept,
                let bytes = source.bytes(at: item.lowerBound, count: Int(length)), bytes.count == Int(length)
            else { return nil }
            kept += MP4Patch.box(name, bytes)
            return nil
        }
        return kept
    }

    private static func isOfShop(_ name: String, _ length: Int64) -> Bool {
        ofShops.contains(name) && (1...longestKept).contains(length) && TagTable.name(of: name, in: .mp4).rowName == nil
    }

    /// The name of a custom item, if that is not Apple's, or if not all of its values are texts.
    private static func unreadItem(_ source: ByteSource, _ item: Range<Int64>) -> String? {
        var (space, name, isText, left) = ("", "", true, TagCollector.mostParts)
        let _: Void? = source.eachBox(in: item) { part, content in
            left -= 1
            if part == "mean" { space = own(source, content) ?? "" }
            if part == "name" { name = own(source, content) ?? "" }
            if part == "data" { isText = isText && source.bytes(at: content.lowerBound, count: 4) == [0, 0, 0, 1] }
            return left < 0 ? () : nil
        }
        return space == "com.apple.iTunes" && isText ? nil : "----:\(space):\(name)"
    }

    /// The text of a value, whose kind and language are before it; `nil` if it is a picture.
    private static func text(
        _ source: ByteSource,
        _ content: Range<Int64>,
        of item: String,
        _ collector: inout TagCollector
    ) -> String? {
        let length = content.upperBound - content.lowerBound - 8
        guard length > 0, let kind = source.bytes(at: content.lowerBound, count: 4) else { return nil }
        let isText = kind == [0, 0, 0, 1]
        guard isText || length <= 8, collector.takes(length),
            let bytes = source.bytes(at: content.lowerBound + 8, count: Int(length)), bytes.count == Int(length)
        else { return nil }
        if isText { return String(decoding: bytes, as: UTF8.self) }
        if item == "trkn" || item == "disk" { return place(bytes) }
        // Kind 21 is a whole number. Old files leave the kind of such items out.
        let isNumber = kind == [0, 0, 0, 21] || kind == [0, 0, 0, 0] && numbers.contains(item)
        let number = bigEndian(bytes)
        // No piece has no beats: iTunes writes that where it knows none.
        return isNumber && !(item == "tmpo" && number == 0) ? "\(number)" : nil
    }

    private static let numbers: Set<String> = ["tmpo", "cpil", "pgap", "pcst", "shwm"]

    /// A number and its total, each in two bytes behind two others.
    private static func place(_ bytes: [UInt8]) -> String? {
        guard bytes.count >= 6 else { return nil }
        let (number, total) = (bigEndian(bytes[2..<4]), bigEndian(bytes[4..<6]))
        if number == 0 { return total == 0 ? nil : "/\(total)" }
        return total == 0 ? "\(number)" : "\(number)/\(total)"
    }

    /// The name of a custom item, behind version and flags.
    private static func own(_ source: ByteSource, _ content: Range<Int64>) -> String? {
        let length = min(content.upperBound - content.lowerBound - 4, Int64(TagCollector.longestName))
        guard length > 0 else { return nil }
        return source.bytes(at: content.lowerBound + 4, count: Int(length)).map { String(decoding: $0, as: UTF8.self) }
    }
}
