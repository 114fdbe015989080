/// An MP4 or QuickTime file with long tracks and a layout so plain that this code can walk their sample tables.
///
/// Plain means: one `moov` and no fragments; boxes that exactly fill their parent; samples in this file, under one
/// description; and no table that alters packets. libav reads every other file unaided.
struct PlainMovie {
    /// The audio tracks and their shortened tables for libav.
    private(set) var standIns: [SampleStandIn] = []
    /// The bytes that libav sees changed. They do not move any other byte.
    private(set) var patches: [SourcePatch] = []
    /// Bytes of all tables read.
    private var tableBytes: Int64 = 0

    /// A box with its place in the file.
    private struct Box {
        let name: String
        let start: Int64
        let content: Range<Int64>
    }

    /// The facts and tables of one track.
    private struct Track {
        let id: Int64
        let kind: String
        let header: Range<Int64>
        let tables: [Box]
        let isSelfContained: Bool
    }

    /// `nil` if hiding samples from libav is not worthwhile.
    init?(_ source: ByteSource, _ rules: SampleTableRules) throws {
        // Rejects most files at once: a sample takes at least four bytes for its size.
        guard let size = source.size, size / 4 > rules.leastSamples,
            let movie = Self.movie(in: source, size: size), let boxes = Self.boxes(in: source, movie),
            !boxes.contains(where: { ["mvex", "cmov", "rmra", "moov"].contains($0.name) })
        else { return nil }
        let places = boxes.filter { $0.name == "trak" }
        // Files with more tracks are refused anyway.
        guard places.count <= Demuxer.mostStreams else { return nil }
        let tracks = places.compactMap { Self.track(in: source, $0.content) }
        // A track that was not understood may share its id with any other track.
        guard tracks.count == places.count, Set(tracks.map(\.id)).count == tracks.count else { return nil }
        let hasChapters = places.contains { source.box("tref", in: $0.content) != nil }
        for track in tracks {
            switch track.kind {
            case "soun": try hide(track, in: source, rules)
            // Chapters may use the pictures of a video track, or rely on the first of them.
            case "vide" where !hasChapters: hideAll(track, in: source, rules)
            default: continue
            }
        }
        // Each read of the source goes through all patches.
        guard (1...Self.mostPatches).contains(patches.count) else { return nil }
    }

    // MARK: Hiding

    /// Far more than needed: a track has a dozen tables.
    private static let mostPatches = 4096
    private static let codecs: Set<String> = ["mp4a", "alac", "Opus", "fLaC"]
    private static let name = (start: Int64(4), free: Array("free".utf8))

    /// Shows libav the start and the end of an audio track, and hides the samples in between.
    private mutating func hide(_ track: Track, in source: ByteSource, _ rules: SampleTableRules) throws {
        let named = Dictionary(grouping: track.tables, by: \.name)
        guard track.isSelfContained, let description = named["stsd"], description.count == 1,
            let sizes = named["stsz"], sizes.count == 1, let runs = named["stts"], runs.count == 1,
            let chunkRuns = named["stsc"], chunkRuns.count == 1,
            case let offsets = (named["stco"] ?? []) + (named["co64"] ?? []), offsets.count == 1,
            named.keys.allSatisfy(Self.plainTables.contains), Self.groupsAreRolls(source, named["sbgp"] ?? []),
            Self.isOneOfOurs(source, description[0].content), let length = Self.length(source, track.header)
        else { return }
        let places = SampleTables.Boxes(
            sizes: sizes[0].content,
            runs: runs[0].content,
            chunkRuns: chunkRuns[0].content,
            offsets: offsets[0].content,
            offsetsAreWide: offsets[0].name == "co64"
        )
        tableBytes += [sizes[0], runs[0], chunkRuns[0], offsets[0]]
            .reduce(0) { $0 + $1.content.upperBound - $1.content.lowerBound }
        guard tableBytes <= rules.mostTableBytes else { return }
        let counts = rules.leastSamples...rules.mostSamples
        guard let tables = try SampleTables(places, in: source, samples: counts),
            let standIn = try SampleStandIn(for: tables, ofTrack: track.id, statedTicks: length, rules),
            let boxes = standIn.boxes(inPlaceOf: sizes[0].content.upperBound - sizes[0].start)
        else { return }
        standIns.append(standIn)
        patches.append(SourcePatch(place: sizes[0].start, bytes: boxes))
        for box in [runs[0], chunkRuns[0], offsets[0]] { hide(box) }
    }

    /// Hides all samples of a track that is never read.
    private mutating func hideAll(_ track: Track, in source: ByteSource, _ rules: SampleTableRules) {
        guard let sizes = track.tables.first(where: { ["stsz", "stz2"].contains($0.name) }),
            let head = source.bytes(at: sizes.content.lowerBound, count: 12), head.count == 12,
            bigEndian(head[8..<12]) >= rules.leastSamples
        else { return }
        for table in track.tables where table.name != "stsd" {
            // Without any run of durations, libav 7.1 takes the file for a fragmented one and ignores all edit lists.
            // One run of no samples is left to it.
            guard table.name == "stts", table.content.upperBound - table.content.lowerBound >= 16 else {
                hide(table)
                continue
            }
            patches.append(SourcePatch(place: table.content.lowerBound + 4, bytes: [0, 0, 0, 1, 0, 0, 0, 0]))
        }
    }

    private mutating func hide(_ box: Box) {
        patches.append(SourcePatch(place: box.start + Self.name.start, bytes: Self.name.free))
    }

    // MARK: What is plain

    /// All tables that a plain track may have. Others may mark packets, shift them or describe their encryption.
    private static let plainTables: Set<String> = [
        "stsd", "stts", "stsc", "stsz", "stco", "co64", "sgpd", "sbgp", "free", "skip",
    ]

    /// Whether the sample groups state only how much preroll a decoder needs.
    private static func groupsAreRolls(_ source: ByteSource, _ boxes: [Box]) -> Bool {
        boxes.allSatisfy { box in
            guard let head = source.bytes(at: box.content.lowerBound, count: 8), head.count == 8 else { return false }
            return ["roll", "prol"].contains { head[4..<8].elementsEqual($0.utf8) }
        }
    }

    /// Whether there is one description, of a codec whose packets are exactly the samples in the file.
    private static func isOneOfOurs(_ source: ByteSource, _ description: Range<Int64>) -> Bool {
        guard let head = source.bytes(at: description.lowerBound, count: 16), head.count == 16 else { return false }
        return bigEndian(head[4..<8]) == 1 && codecs.contains { head[12..<16].elementsEqual($0.utf8) }
    }

    /// The length in `mdhd`, in ticks; `nil` if it states none.
    private static func length(_ source: ByteSource, _ header: Range<Int64>) -> Int64? {
        guard let bytes = source.bytes(at: header.lowerBound, count: 32), bytes.count == 32, bytes[0] <= 1 else {
            return nil
        }
        let isWide = bytes[0] == 1
        let scale = bigEndian(bytes[isWide ? 20..<24 : 12..<16])
        let length = bigEndian(bytes[isWide ? 24..<32 : 16..<20])
        return scale > 0 && scale < 1 << 31 && length > 0 ? length : nil
    }

    // MARK: Boxes

    private static let topBoxes: Set<String> = ["ftyp", "free", "skip", "wide", "mdat", "moov", "udta", "meta"]

    /// The content of the only `moov`, in a file that otherwise holds only samples and boxes without effect.
    private static func movie(in source: ByteSource, size: Int64) -> Range<Int64>? {
        var (place, found) = (Int64(0), Range<Int64>?.none)
        for _ in 0..<256 {
            if place == size { return found }
            guard let box = source.boxHead(at: place, before: size), topBoxes.contains(box.name) else { return nil }
            // A box cut short must hold samples: then the tables of those before the cut are complete.
            if box.size > size - place { return box.name == "mdat" ? found : nil }
            if box.name == "moov" {
                guard found == nil else { return nil }
                found = (place + box.headBytes)..<(place + box.size)
            }
            place += box.size
        }
        return nil
    }

    /// The boxes in `range`; `nil` if they do not fill it exactly.
    private static func boxes(in source: ByteSource, _ range: Range<Int64>) -> [Box]? {
        var (place, found) = (range.lowerBound, [Box]())
        while place < range.upperBound {
            guard found.count < 1024, let box = source.boxHead(at: place, before: range.upperBound),
                box.size <= range.upperBound - place
            else { return nil }
            let end = place + box.size
            found.append(Box(name: box.name, start: place, content: (place + box.headBytes)..<end))
            place = end
        }
        return found
    }

    /// `nil` if boxes are missing, occur twice, or come in an order in which libav reads them differently.
    private static func track(in source: ByteSource, _ content: Range<Int64>) -> Track? {
        guard let (header, media) = pair("tkhd", "mdia", in: source, content),
            let (mediaHeader, _) = pair("mdhd", "hdlr", in: source, media),
            let (handler, information) = pair("hdlr", "minf", in: source, media),
            let parts = boxes(in: source, information), case let tables = parts.filter({ $0.name == "stbl" }),
            tables.count == 1, let inner = boxes(in: source, tables[0].content),
            let bytes = source.bytes(at: header.lowerBound, count: 24), bytes.count == 24,
            let kind = source.bytes(at: handler.lowerBound, count: 12), kind.count == 12
        else { return nil }
        let place = bytes[0] == 1 ? 20 : 12
        return Track(
            id: bigEndian(bytes[place..<(place + 4)]),
            kind: String(decoding: kind[8..<12], as: UTF8.self),
            header: mediaHeader,
            tables: inner,
            isSelfContained: isSelfContained(source, parts.filter { $0.name == "dinf" })
        )
    }

    /// The contents of two boxes that occur once each, in this order.
    private static func pair(
        _ first: String,
        _ second: String,
        in source: ByteSource,
        _ range: Range<Int64>
    ) -> (Range<Int64>, Range<Int64>)? {
        guard let all = boxes(in: source, range), case let found = all.filter({ [first, second].contains($0.name) }),
            found.map(\.name) == [first, second]
        else { return nil }
        return (found[0].content, found[1].content)
    }

    /// Whether the samples are in this file: one data reference without a path, or none at all.
    private static func isSelfContained(_ source: ByteSource, _ boxes: [Box]) -> Bool {
        guard let box = boxes.first else { return true }
        guard boxes.count == 1, let references = source.box("dref", in: box.content),
            let head = source.bytes(at: references.lowerBound, count: 20), head.count == 20
        else { return false }
        return bigEndian(head[4..<8]) == 1 && bigEndian(head[8..<12]) == 12 && head[19] & 1 == 1
    }
}
