import Conversion

/// The items of an MP4 file. An item may hold several values, and custom items may share a name.
enum MP4Items {
    static func collect(in source: ByteSource, _ size: Int64, into collector: inout TagCollector) {
        guard let movie = source.box("moov", in: 0..<size), let user = source.box("udta", in: movie),
            let meta = source.box("meta", in: user), meta.upperBound - meta.lowerBound > 4,
            // The content follows version and flags.
            let list = source.box("ilst", in: (meta.lowerBound + 4)..<meta.upperBound)
        else { return }
        var found = collector
        var left = TagCollector.mostParts
        let _: Void? = source.eachBox(in: list) { name, item in
            // The first letter of Apple's names is not ASCII.
            var native = name.hasPrefix("\u{FFFD}") ? "©" + name.dropFirst() : name
            var values: [String] = []
            let _: Void? = source.eachBox(in: item) { part, content in
                left -= 1
                if left < 0 { return () }
                if part == "data", let text = text(source, content, &found) { values.append(text) }
                if part == "name", let own = own(source, content) { native = "----:" + own }
                return nil
            }
            // Covers are pictures.
            if name != "covr" { found.add(values, native: native, in: .mp4) }
            return left < 0 ? () : nil
        }
        collector = found
    }

    /// The text of a value, whose kind and language are before it; `nil` if it is a number or a picture.
    private static func text(
        _ source: ByteSource,
        _ content: Range<Int64>,
        _ collector: inout TagCollector
    ) -> String? {
        let length = content.upperBound - content.lowerBound - 8
        guard length > 0, let kind = source.bytes(at: content.lowerBound, count: 4), kind == [0, 0, 0, 1],
            collector.takes(length)
        else { return nil }
        return source.bytes(at: content.lowerBound + 8, count: Int(length)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The name of a custom item, behind version and flags.
    private static func own(_ source: ByteSource, _ content: Range<Int64>) -> String? {
        let length = min(content.upperBound - content.lowerBound - 4, Int64(TagCollector.longestName))
        guard length > 0 else { return nil }
        return source.bytes(at: content.lowerBound + 4, count: Int(length)).map { String(decoding: $0, as: UTF8.self) }
    }
}
