import Conversion

/// Adds a track of texts to a finished MP4 output, which Apple's players show as chapters.
///
/// Its clock is that of the movie, on which the sound counts frames, so chapters are exact. The texts are the last bytes of
/// the file.
enum MP4ChapterTrack {
    static func append(_ chapters: [Chapter], to sink: ByteSink) throws {
        guard !chapters.isEmpty else { return }
        let moov = try sink.box("moov", from: 0, to: sink.size)
        guard moov.end == sink.size else { throw sink.malformed("moov is not the last box") }
        let header = try sink.box("mvhd", from: moov.body, to: moov.end)
        let sound = try sink.box("trak", from: moov.body, to: moov.end)
        let clock = try Clock(header, in: sink)
        let samples = samples(of: chapters, on: clock)
        // Its tables count no more ticks. Nero's list, which has 255 chapters, does.
        guard !samples.isEmpty, samples.allSatisfy({ $0.duration <= Int64(UInt32.max) }) else { return }
        let id = bigEndian(try sink.bytes(at: header.end - 4, count: 4))
        // The track of the sound names that of its chapters.
        let reference = box("tref", box("chap", number(id)))
        let rest = try sink.bytes(at: sound.end, count: Int(sink.size - sound.end))
        // The length of the track does not depend on where the texts are.
        let length = track(id, samples, clock, textsAt: 0).count
        let movieBytes = moov.end - moov.start + Int64(reference.count + length)
        let texts = box("mdat", samples.flatMap(\.bytes))
        let further = reference + track(id, samples, clock, textsAt: moov.start + movieBytes + 8)
        try sink.patch(further + rest + texts, at: sound.end)
        try sink.patch(number(sound.end - sound.start + Int64(reference.count)), at: sound.start)
        try sink.patch(number(movieBytes), at: moov.start)
        try sink.patch(number(id + 1), at: header.end - 4)
    }

    /// The clock of the movie, and how long it lasts.
    private struct Clock {
        let ticksPerSecond: Int
        let duration: Int64

        init(_ header: Box, in sink: ByteSink) throws {
            let bytes = try sink.bytes(at: header.body, count: 32)
            guard bytes.count == 32 else { throw sink.malformed("the header of the movie is cut") }
            let isLong = bytes[0] == 1
            ticksPerSecond = Int(isLong ? bigEndian(bytes[20..<24]) : bigEndian(bytes[12..<16]))
            duration = isLong ? bigEndian(bytes[24..<32]) : bigEndian(bytes[16..<20])
            guard ticksPerSecond > 0 else { throw sink.malformed("the movie has no clock") }
        }
    }

    /// A title, and the time for which it is shown.
    private struct Sample {
        let start: Int64
        var duration: Int64
        let bytes: [UInt8]
    }

    /// A title lasts until the next one. Of two at the same time, the first counts.
    private static func samples(of chapters: [Chapter], on clock: Clock) -> [Sample] {
        var samples: [Sample] = []
        for chapter in chapters {
            let before = samples.last?.start ?? -1
            guard let start = chapter.startTicks(clock.ticksPerSecond), start > before else { continue }
            if !samples.isEmpty { samples[samples.count - 1].duration = start - before }
            let title = chapter.shortTitle(bytes: 0xFFFF)
            // The texts are UTF-8.
            let encoding: [UInt8] = [0, 0, 0, 12] + Array("encd".utf8) + [0, 0, 1, 0]
            let bytes = bigEndianBytes(Int64(title.count), count: 2) + title + encoding
            samples.append(Sample(start: start, duration: max(1, clock.duration - start), bytes: bytes))
        }
        return samples
    }

    // MARK: Boxes

    private static func track(_ id: Int64, _ samples: [Sample], _ clock: Clock, textsAt place: Int64) -> [UInt8] {
        let shown = samples.reduce(0) { $0 + $1.duration }
        let stored = reachingTheEnd(samples)
        // The track is not shown by itself: only players that look for chapters do.
        var head: [UInt8] = [1, 0, 0, 2] + zeros(16)
        head += number(id) + zeros(4)
        head += long(clock.duration) + zeros(16)
        for element in [0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x4000_0000] { head += number(Int64(element)) }
        head += zeros(8)
        let length = stored.reduce(0) { $0 + $1.duration }
        let content = media(stored, clock, lasting: length, textsAt: place)
        return box("trak", box("tkhd", head) + edits(samples, lasting: shown) + content)
    }

    /// The samples as they are stored. libav lets the last chapter end where the samples do, without what lies before the
    /// first one. So the last sample is longer by that, which the edit list leaves out.
    private static func reachingTheEnd(_ samples: [Sample]) -> [Sample] {
        var samples = samples
        guard let start = samples.first?.start, let last = samples.indices.last,
            samples[last].duration + start <= Int64(UInt32.max)
        else { return samples }
        samples[last].duration += start
        return samples
    }

    /// What lies before the first chapter is empty.
    private static func edits(_ samples: [Sample], lasting length: Int64) -> [UInt8] {
        guard let start = samples.first?.start, start > 0 else { return [] }
        var list: [UInt8] = [1, 0, 0, 0] + number(2)
        for (duration, media) in [(start, Int64(-1)), (length, 0)] {
            list += long(duration) + long(media)
            list += number(0x10000)
        }
        return box("edts", box("elst", list))
    }

    private static func media(
        _ samples: [Sample],
        _ clock: Clock,
        lasting length: Int64,
        textsAt place: Int64
    ) -> [UInt8] {
        var header: [UInt8] = [1, 0, 0, 0] + zeros(16)
        header += number(Int64(clock.ticksPerSecond)) + long(length)
        // No language.
        header += [0x55, 0xC4, 0, 0]
        let handler: [UInt8] = zeros(8) + Array("text".utf8) + zeros(13)
        let here = box("url ", [0, 0, 0, 1])
        let places = box("dinf", box("dref", zeros(4) + number(1) + here))
        let information = box("minf", display + places + table(samples, textsAt: place))
        return box("mdia", box("mdhd", header) + box("hdlr", handler) + information)
    }

    /// How QuickTime would draw the texts.
    private static let display: [UInt8] = {
        let mode: [UInt8] = zeros(4) + [0, 0x40, 0x80, 0, 0x80, 0, 0x80, 0] + zeros(4)
        var matrix: [UInt8] = [0, 1] + zeros(12)
        matrix += number(1) + zeros(12)
        matrix += number(0x4000) + zeros(2)
        return box("gmhd", box("gmin", mode) + box("text", matrix))
    }()

    private static func table(_ samples: [Sample], textsAt place: Int64) -> [UInt8] {
        let count = number(Int64(samples.count))
        var (durations, sizes): ([UInt8], [UInt8]) = ([], [])
        for sample in samples {
            durations += number(1) + number(sample.duration)
            sizes += number(Int64(sample.bytes.count))
        }
        let entry = box("text", zeros(6) + [0, 1] + style)
        var boxes = box("stsd", zeros(4) + number(1) + entry)
        boxes += box("stts", zeros(4) + count + durations)
        // One chunk has all of them.
        let chunk = number(1) + count + number(1)
        boxes += box("stsc", zeros(4) + number(1) + chunk)
        boxes += box("stsz", zeros(8) + count + sizes)
        boxes += box("co64", zeros(4) + number(1) + long(place))
        return box("stbl", boxes)
    }

    /// Where the text stands and in which font: all zero, apart from the number of a font without a name.
    private static let style: [UInt8] = {
        var flags: [UInt8] = [0, 0, 0, 1] + zeros(18)
        flags += [0, 1] + zeros(6)
        return flags + box("ftab", [0, 1, 0, 1, 0])
    }()

    private static func box(_ name: String, _ content: [UInt8]) -> [UInt8] { MP4Patch.box(name, content) }
    private static func number(_ value: Int64) -> [UInt8] { bigEndianBytes(value, count: 4) }
    private static func long(_ value: Int64) -> [UInt8] { bigEndianBytes(value, count: 8) }
    private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
}
