import Conversion

/// Several values of a tag in the Vorbis comments of an output.
///
/// libav writes one comment for each name. So it gets all values of a tag as one comment, with room for the length of each
/// further one, and `divide` makes comments of them in the finished output. No byte moves.
enum CommentValues {
    /// What libav calls tags that have other names in comments.
    private static let names = [
        "album_artist": "ALBUMARTIST", "track": "TRACKNUMBER", "disc": "DISCNUMBER", "comment": "DESCRIPTION",
    ]
    /// The bytes between two comments, in place of the length of the second one.
    private static let joint = "    "

    /// The tags as libav gets them. Of two tags with one name, it would keep the last.
    static func joined(_ tags: [Tag]) -> [Tag] {
        unique(tags).map { tag in
            guard tag.values.count > 1 else { return tag }
            return Tag(key: tag.key, value: tag.values.joined(separator: joint + name(of: tag) + "="))
        }
    }

    /// Makes a comment of each value in an output, and returns the places that have changed. `find` finds the comments.
    @discardableResult
    static func divide(
        _ tags: [Tag],
        in sink: ByteSink,
        _ find: (ByteSource) -> SplicedBytes?
    ) throws -> [Int64] {
        let named = NativeTags(tags, in: .vorbis).tags
        let several = unique(named).filter { $0.values.count > 1 }
        guard !several.isEmpty else { return [] }
        let written = try ByteSource(descriptor: sink.descriptor, stop: StopSignal())
        guard let block = find(written), let changes = division(of: several, in: block) else {
            throw sink.malformed("its tags are not as they were given to libav")
        }
        var places: [Int64] = []
        for change in changes {
            for piece in block.pieces(at: change.place, of: change.bytes) {
                try sink.patch(piece.bytes, at: piece.place)
                places.append(piece.place)
            }
        }
        return places
    }

    /// What to overwrite in `block`, so that each value of `tags` is a comment; `nil` if a tag is not there.
    static func division(of tags: [Tag], in block: SplicedBytes) -> [(place: Int64, bytes: [UInt8])]? {
        var wanted: [[UInt8]: [Int]] = [:]
        for tag in tags {
            let comments = tag.values.map { Array((name(of: tag) + "=" + $0).utf8) }
            wanted[Array(comments.joined(separator: Array(joint.utf8)))] = comments.map(\.count)
        }
        var lengths = Set(wanted.keys.map { Int64($0.count) })
        guard let vendor = block.bytes(at: 0, count: 4), vendor.count == 4 else { return nil }
        let start = 4 + littleEndian(vendor)
        guard let number = block.bytes(at: start, count: 4), number.count == 4 else { return nil }
        let stated = littleEndian(number)
        var (place, added, changes) = (start + 4, 0, [(place: Int64, bytes: [UInt8])]())
        for _ in 0..<stated where !wanted.isEmpty {
            guard let head = block.bytes(at: place, count: 4), head.count == 4 else { return nil }
            let length = littleEndian(head)
            if lengths.contains(length), let comment = block.bytes(at: place + 4, count: Int(length)),
                let parts = wanted.removeValue(forKey: comment)
            {
                var next = place
                for part in parts {
                    changes.append((next, little(part)))
                    next += 4 + Int64(part)
                }
                added += parts.count - 1
                lengths = Set(wanted.keys.map { Int64($0.count) })
            }
            place += 4 + length
        }
        guard wanted.isEmpty else { return nil }
        changes.append((start, little(Int(stated) + added)))
        return changes
    }

    private static func little(_ value: Int) -> [UInt8] { bigEndianBytes(Int64(value), count: 4).reversed() }

    private static func name(of tag: Tag) -> String { names[tag.key.lowercased()] ?? tag.key }

    private static func unique(_ tags: [Tag]) -> [Tag] {
        var last: [String: Int] = [:]
        for (index, tag) in tags.enumerated() { last[name(of: tag).lowercased()] = index }
        return tags.indices.filter { last[name(of: tags[$0]).lowercased()] == $0 }.map { tags[$0] }
    }
}
