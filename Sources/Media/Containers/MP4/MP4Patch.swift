import Conversion

/// Adds to MP4 what libav's muxer cannot write: iTunSMPB, for players that use it to trim, tags with any name, and
/// chapters.
enum MP4Patch {
    static func apply(to sink: ByteSink, _ format: ResolvedFormat, _ facts: WrittenFacts) throws {
        var items: [UInt8] = []
        // The tag can state one part.
        if format.codec == .aac, facts.parts.isEmpty { items += MP4TagItems.freeform("iTunSMPB", [gaplessText(facts)]) }
        items += MP4TagItems(facts.tags.filter { !$0.isTechnical }).items
        items += facts.items
        let chapters = chapterBox(facts.chapters)
        if items.isEmpty, chapters.isEmpty { return }
        try append(items, toItemListOf: sink, behindIt: chapters)
    }

    /// The chapters as Nero writes them, in units of 100 ns; empty without chapters.
    private static func chapterBox(_ chapters: [Chapter]) -> [UInt8] {
        var (entries, count): ([UInt8], Int) = ([], 0)
        // A byte counts them.
        for chapter in chapters.prefix(255) {
            guard let start = chapter.startTicks(10_000_000) else { continue }
            let title = chapter.shortTitle(bytes: 255)
            entries += bigEndianBytes(start, count: 8) + [UInt8(title.count)] + title
            count += 1
        }
        // Version and flags, and four bytes without a meaning.
        let head: [UInt8] = [1, 0, 0, 0, 0, 0, 0, 0, UInt8(clamping: count)]
        return count == 0 ? [] : box("chpl", head + entries)
    }

    /// The text of iTunSMPB: priming, padding and sound in frames; its other fields have no
    /// meaning in files with one stream.
    private static func gaplessText(_ facts: WrittenFacts) -> String {
        let blocks = (Int64(facts.delay) + facts.frames + 1023) / 1024
        let padding = blocks * 1024 - Int64(facts.delay) - facts.frames
        let fields = [hex(0, 8), hex(Int64(facts.delay), 8), hex(padding, 8), hex(facts.frames, 16)]
        return " " + (fields + Array(repeating: hex(0, 8), count: 8)).joined(separator: " ")
    }

    /// libav writes `moov` last, with its item list at the very end, so nothing that an offset points at moves.
    private static func append(_ items: [UInt8], toItemListOf sink: ByteSink, behindIt further: [UInt8]) throws {
        let moov = try sink.box("moov", from: 0, to: sink.size)
        let udta = try sink.box("udta", from: moov.body, to: moov.end)
        let meta = try sink.box("meta", from: udta.body, to: udta.end)
        let list = try sink.box("ilst", from: meta.body + 4, to: meta.end)
        guard moov.end == sink.size, further.isEmpty || udta.end == moov.end else {
            throw sink.malformed("moov and udta are not the last boxes")
        }
        let rest = try sink.bytes(at: list.end, count: Int(sink.size - list.end))
        try sink.patch(items + rest + further, at: list.end)
        let whole = items.count + further.count
        for (grown, bytes) in [(moov, whole), (udta, whole), (meta, items.count), (list, items.count)] {
            try sink.patch(bigEndianBytes(grown.end - grown.start + Int64(bytes), count: 4), at: grown.start)
        }
    }

    /// A box with this content.
    static func box(_ name: String, _ body: [UInt8]) -> [UInt8] {
        // The first letter of some names is not ASCII, and takes one byte.
        let letters: [UInt8] = name.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        return bigEndianBytes(Int64(body.count + 8), count: 4) + letters + body
    }

    private static func hex(_ value: Int64, _ digits: Int) -> String {
        let text = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
