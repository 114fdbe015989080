import TestSupport

/// Edits MP4 files whose `moov` is the last box, as `ffmpeg` writes them.
enum MP4Bytes {
    /// Sets the movie's timescale, and a single edit in the first track. `start` is in ticks of the track, `length`
    /// in ticks of the movie.
    static func setEdit(_ path: String, movieTimescale: UInt32, start: UInt32, length: UInt32) throws {
        let bytes = try Bytes.read(path)
        let movie = try place(of: "mvhd", in: bytes)
        try Bytes.overwrite(path, at: movie + 16, with: big(movieTimescale) + big(length))
        let list = try place(of: "elst", in: bytes)
        try Bytes.overwrite(path, at: list + 12, with: big(length) + big(start))
    }

    /// An entry of an edit list: `length` in ticks of the movie, `start` in ticks of the track or -1 for silence.
    struct Edit: Sendable {
        var length: Int
        var start: Int
        var rate = 1.0
    }

    /// Sets the movie's timescale, and the edits of the only track, which has some.
    static func setEdits(_ path: String, movieTimescale: Int, _ edits: [Edit]) throws {
        var bytes = try Bytes.read(path)
        let scale = try place(of: "mvhd", in: bytes) + 16
        bytes.replaceSubrange(scale..<(scale + 4), with: big(UInt32(movieTimescale)))
        var entries: [UInt8] = []
        for edit in edits {
            entries += big(UInt32(edit.length)) + big(UInt32(bitPattern: Int32(edit.start)))
            entries += big(UInt32(edit.rate * 65_536))
        }
        let fresh = box("edts", box("elst", big(0) + big(UInt32(edits.count)) + entries))
        let old = try place(of: "edts", in: bytes) - 4
        let oldSize = Int(try Bytes.big(UInt32.self, in: bytes, at: old))
        bytes.replaceSubrange(old..<(old + oldSize), with: fresh)
        for name in ["trak", "moov"] {
            let parent = try place(of: name, in: bytes) - 4
            let size = Int(try Bytes.big(UInt32.self, in: bytes, at: parent)) + fresh.count - oldSize
            bytes.replaceSubrange(parent..<(parent + 4), with: big(UInt32(size)))
        }
        try Bytes.write(bytes, to: path)
    }

    /// Adds the tag in which iTunes stores priming, padding and length.
    static func addGaplessTag(_ path: String, priming: Int, padding: Int, frames: Int) throws {
        func hex(_ number: Int, _ digits: Int) -> String {
            let text = String(number, radix: 16, uppercase: true)
            return String(repeating: "0", count: digits - text.count) + text
        }
        let value = " 00000000 \(hex(priming, 8)) \(hex(padding, 8)) \(hex(frames, 16)) 00000000 00000000"
        let item = box(
            "----",
            box("mean", big(0) + Array("com.apple.iTunes".utf8)) + box("name", big(0) + Array("iTunSMPB".utf8))
                + box("data", big(1) + big(0) + Array(value.utf8))
        )
        let handler = box("hdlr", big(0) + big(0) + Array("mdirappl".utf8) + [UInt8](repeating: 0, count: 9))
        let tags = box("udta", box("meta", big(0) + handler + box("ilst", item)))
        var bytes = try Bytes.read(path)
        let movie = try place(of: "moov", in: bytes) - 4
        let size = try Bytes.big(UInt32.self, in: bytes, at: movie)
        guard movie + Int(size) == bytes.count else { throw SupportError("add a tag", "moov is not the last box") }
        bytes.replaceSubrange(movie..<(movie + 4), with: big(size + UInt32(tags.count)))
        try Bytes.write(bytes + tags, to: path)
    }

    private static func place(of name: String, in bytes: [UInt8]) throws -> Int {
        guard let place = Bytes.find(name, in: bytes) else { throw SupportError("find \(name)", "it is not there") }
        return place
    }

    private static func box(_ name: String, _ content: [UInt8]) -> [UInt8] {
        big(UInt32(content.count + 8)) + Array(name.utf8) + content
    }

    private static func big(_ number: UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(big: number)
        return bytes
    }
}
