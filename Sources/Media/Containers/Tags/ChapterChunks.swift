import Conversion

/// Chapters as the marks of WAV, AIFF and CAF, which count frames.
enum ChapterChunks {
    /// The chunks `cue ` and `LIST` of WAV: places, and their titles.
    static func riff(_ chapters: [Chapter], rate: Int) -> [FurtherChunks.Chunk] {
        let places = frames(of: chapters, rate, upTo: last)
        guard !places.isEmpty else { return [] }
        var cues = little(places.count)
        var labels = Array("adtl".utf8)
        for (index, place) in places.enumerated() {
            let id = little(index + 1)
            // The place is stated twice: in the order of playing, and in the chunk of the sound.
            cues += id + little(place.frame) + Array("data".utf8)
            cues += little(0) + little(0) + little(place.frame)
            let title = place.chapter.shortTitle(bytes: longestLabel)
            guard !title.isEmpty else { continue }
            labels += Array("labl".utf8) + little(title.count + 5)
            labels += id + title + [0]
            if title.count % 2 == 0 { labels.append(0) }
        }
        let list = FurtherChunks.Chunk(name: "LIST", content: labels)
        return [FurtherChunks.Chunk(name: "cue ", content: cues)] + (labels.count > 4 ? [list] : [])
    }

    /// The chunk `MARK` of AIFF.
    static func iff(_ chapters: [Chapter], rate: Int) -> [FurtherChunks.Chunk] {
        let places = frames(of: chapters, rate, upTo: last)
        guard !places.isEmpty else { return [] }
        var marks = bigEndianBytes(Int64(places.count), count: 2)
        for (index, place) in places.enumerated() {
            marks += bigEndianBytes(Int64(index + 1), count: 2)
            marks += bigEndianBytes(Int64(place.frame), count: 4)
            // The counted title fills an even number of bytes.
            let title = place.chapter.shortTitle(bytes: longestTitle)
            marks += [UInt8(title.count)] + title
            if title.count % 2 == 0 { marks.append(0) }
        }
        return [FurtherChunks.Chunk(name: "MARK", content: marks)]
    }

    /// The chunks `mark` and `strg` of CAF: places, and their titles by the numbers of the marks.
    static func caf(_ chapters: [Chapter], rate: Int) -> [FurtherChunks.Chunk] {
        let places = frames(of: chapters, rate)
        guard !places.isEmpty else { return [] }
        var marks = big(0) + big(places.count)
        var (count, list, texts): (Int, [UInt8], [UInt8]) = (0, [], [])
        // A mark of no kind, with no time of a film, for all channels.
        let (kind, time, channel) = (big(0), [UInt8](repeating: 0xFF, count: 8), big(0))
        for (index, place) in places.enumerated() {
            let id = big(index + 1)
            let frame = Int64(bitPattern: Double(place.frame).bitPattern)
            marks += kind + bigEndianBytes(frame, count: 8)
            marks += id + time + channel
            let title = place.chapter.shortTitle(bytes: longestLabel)
            guard !title.isEmpty else { continue }
            count += 1
            list += id + bigEndianBytes(Int64(texts.count), count: 8)
            texts += title + [0]
        }
        let names = FurtherChunks.Chunk(name: "strg", content: big(count) + list + texts)
        return [FurtherChunks.Chunk(name: "mark", content: marks)] + (count > 0 ? [names] : [])
    }

    private static let longestLabel = 4_000
    private static let longestTitle = 255

    /// The last frame that WAV and AIFF can count, in 32 bits: after more than a day of sound at 48 kHz.
    static let last = Int64(UInt32.max)

    private static func frames(
        of chapters: [Chapter],
        _ rate: Int,
        upTo last: Int64 = .max
    ) -> [(frame: Int, chapter: Chapter)] {
        chapters.compactMap { chapter in
            guard let frame = chapter.startTicks(rate), frame <= last else { return nil }
            return (Int(frame), chapter)
        }
    }

    private static func big(_ value: Int) -> [UInt8] { bigEndianBytes(Int64(value), count: 4) }
    private static func little(_ value: Int) -> [UInt8] { bigEndianBytes(Int64(value), count: 4).reversed() }
}
