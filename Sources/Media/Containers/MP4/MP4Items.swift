/// The items of an MP4 file. An item may hold several values, and custom items may share a name.
enum MP4Items {
    static func count(in source: ByteSource, _ size: Int64, into values: inout TagValues) {
        guard let movie = source.box("moov", in: 0..<size), let user = source.box("udta", in: movie),
            let meta = source.box("meta", in: user), meta.upperBound - meta.lowerBound > 4,
            // The content follows version and flags.
            let list = source.box("ilst", in: (meta.lowerBound + 4)..<meta.upperBound)
        else { return }
        var (found, left) = (TagValues(), TagValues.mostParts)
        let _: Void? = source.eachBox(in: list) { name, item in
            var (number, own) = (0, name)
            let _: Void? = source.eachBox(in: item) { part, content in
                left -= 1
                if left < 0 { return () }
                if part == "data" { number += 1 }
                if part == "name", content.upperBound - content.lowerBound > 4 {
                    let length = min(content.upperBound - content.lowerBound - 4, Int64(TagValues.longestName))
                    own =
                        source.bytes(at: content.lowerBound + 4, count: Int(length))
                        .map { String(decoding: $0, as: UTF8.self) } ?? name
                }
                return nil
            }
            // Covers are pictures; `SourceLoss` reports additional ones separately.
            if name != "covr" { found.add(common[own] ?? own, values: number) }
            return left < 0 ? () : nil
        }
        values = found
    }

    private static let common = [
        "\u{FFFD}nam": "title", "\u{FFFD}ART": "artist", "\u{FFFD}alb": "album", "aART": "album_artist",
        "\u{FFFD}wrt": "composer", "\u{FFFD}gen": "genre", "\u{FFFD}cmt": "comment", "\u{FFFD}day": "date",
    ]
}
