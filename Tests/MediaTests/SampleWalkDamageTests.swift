import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// Files with damaged tables or samples end in exactly the same way as when libav reads all of the tables.
@Suite struct SampleWalkDamageTests {
    /// Seven seconds of AAC, made once.
    private static let sample = Result {
        let folder = try TemporaryFolder.create()
        let sound = Signal.noise(seed: 5, rate: 16_000, frames: 110_123, amplitude: 0.3).pcm(.s16)
        for (name, flags) in [("back.m4a", ""), ("front.m4a", "+faststart")] {
            let arguments = [
                "-aac_pns", "0", "-fflags", "+bitexact", "-flags:a", "+bitexact", "-movflags", "0" + flags,
            ]
            try FFmpeg.encode(sound, to: folder.path(name), arguments)
        }
        return (back: try Bytes.read(folder.path("back.m4a")), front: try Bytes.read(folder.path("front.m4a")))
    }

    private let back: [UInt8]
    private let front: [UInt8]
    private let tables: MP4Tables

    init() throws {
        (back, front) = try Self.sample.get()
        tables = try MP4Tables(back)
    }

    /// Where the content of a table's box begins, and its number of words.
    private static func words(_ name: String, in bytes: [UInt8]) throws -> (place: Int, count: Int) {
        let stbl = try #require(Bytes.find("stbl", in: bytes))
        let place = try #require(Bytes.find(name, in: bytes, from: stbl))
        return (place + 4, Int(try Bytes.big(UInt32.self, in: bytes, at: place - 4)) / 4 - 2)
    }

    private static func set(_ word: Int, of name: String, to value: UInt32, in bytes: inout [UInt8]) throws {
        let place = try words(name, in: bytes).place + 4 * word
        bytes.replaceSubrange(place..<(place + 4), with: bigEndianBytes(Int64(value), count: 4))
    }

    // MARK: Samples

    @Test(arguments: [false, true]) func cutFilesEndAlike(isFront: Bool) throws {
        let bytes = isFront ? front : back
        // Cuts the index, if it is in front, and then samples, inside and between them.
        let start = try isFront ? #require(Bytes.find("mdat", in: bytes)) + 4 : bytes.count - 3000
        var walked = 0
        for cut in stride(from: start, through: bytes.count, by: 211) {
            let both = try WalkedBothWays(Damage.cut(bytes, to: cut))
            #expect(both.difference == nil, "cut to \(cut)")
            if both.walkedStreams == [0] { walked += 1 }
        }
        #expect(walked > 60 || !isFront)
    }

    @Test(arguments: 0..<24 as Range<UInt64>) func damagedSamplesAreMetAlike(seed: UInt64) throws {
        let mdat = try #require(Bytes.find("mdat", in: front))
        var bytes = Damage.flipped(front, seed: seed, rate: 0.0002, from: mdat + 4)
        bytes = Damage.hole(bytes, at: mdat + 2000 + 700 * Int(seed), count: 300)
        let both = try WalkedBothWays(bytes, modes: [.strict, .conceal, .skip])
        #expect(both.difference == nil)
        #expect(both.walkedStreams == [0])
    }

    /// Samples and chunks that point beyond the end, over each other or nowhere.
    @Test func placesThatCannotBeAreMetAlike() throws {
        let count = tables.places.count
        var changes: [(String, [Int])] = []
        for sample in [3, 24, 25, 40, count - 4, count - 2] {
            var places = tables.places
            places[sample] = back.count + 5
            changes.append(("sample \(sample) behind the end", places))
            places[sample] = back.count - 20
            changes.append(("sample \(sample) over the end", places))
            places[sample] = 0xFFFF_FFF0
            changes.append(("sample \(sample) far away", places))
            places = tables.places
            for later in sample..<count { places[later] = back.count + 100 * later }
            changes.append(("all from \(sample) on behind the end", places))
            places = tables.places.map { max($0, tables.places[sample]) }
            changes.append(("all up to \(sample) in one place", places))
        }
        for (name, places) in changes {
            for isWide in [false, true] {
                let both = try WalkedBothWays(try tables.written(places: places, isWide: isWide))
                #expect(both.difference == nil, "\(name)")
                #expect(both.walkedStreams == [0], "\(name)")
            }
        }
    }

    // MARK: Tables

    /// Tables with contradictions or impossible claims are left to libav, to refuse or repair.
    @Test func tablesThatContradictEachOtherStayWithLibav() throws {
        let count = tables.sizes.count
        var wide = try tables.written(isWide: true)
        let lastWord = try Self.words("co64", in: wide).count - 2
        try Self.set(lastWord, of: "co64", to: 0x7FFF_FFFF, in: &wide)
        try expectLibavsOwn(wide, "an offset beyond all files")
        try Self.set(lastWord, of: "co64", to: 0x8000_0000, in: &wide)
        try expectLibavsOwn(wide, "a negative offset")

        try expectLibavsOwn(try tables.written(durations: tables.durations.dropLast()), "too few times")
        try expectLibavsOwn(try tables.written(durations: tables.durations + [1024]), "too many times")
        try expectLibavsOwn(try tables.written(places: tables.places, perChunk: [7, 0, 3]), "an empty chunk")
        for size in [0, 0x4000_0000, 0xFFFF_FFFF] {
            var sizes = tables.sizes
            sizes[40] = size
            try expectLibavsOwn(try tables.written(sizes: sizes), "a size of \(size)")
        }
        for ticks in [0, 0x8000_0000, 0xFFFF_FFFF, 0xFFFF_FF00] {
            var durations = tables.durations
            durations[40] = ticks
            try expectLibavsOwn(try tables.written(durations: durations), "\(ticks) ticks")
        }

        let changes: [(String, Int, [UInt32])] = [
            // Word 1: one size for all samples. Word 2: their number.
            ("stsz", 1, [1, 200, 0xFFFF_FFFF]),
            ("stsz", 2, [0, 1, UInt32(count - 1), UInt32(count + 1), 100_000, 1 << 24, 0x7FFF_FFFF, 0xFFFF_FFFF]),
            ("stts", 1, [0, 100, 0x0FFF_FFFF, 0xFFFF_FFFF]),
            ("stts", 2, [0, 1, UInt32(count), 0xFFFF_FFFF]),
            // The number of entries, and the first entry's first chunk, samples per chunk and description.
            ("stsc", 1, [0, 2, 1000, 0xFFFF_FFFF]),
            ("stsc", 2, [0, 2, 0xFFFF_FFFF]),
            ("stsc", 3, [0, 2, 100, 0x7FFF_FFFF, 0xFFFF_FFFF]),
            ("stsc", 4, [0, 2, 0xFFFF_FFFF]),
            ("stco", 1, [0, 1, UInt32(count - 1), UInt32(count + 1), 0x0FFF_FFFF, 0xFFFF_FFFF]),
            ("stsd", 1, [0, 2, 0xFFFF_FFFF]),
        ]
        for (name, word, values) in changes {
            for value in values {
                var bytes = try tables.written()
                try Self.set(word, of: name, to: value, in: &bytes)
                if bytes == (try tables.written()) { continue }
                try expectLibavsOwn(bytes, "word \(word) of \(name) is \(value)")
            }
        }
    }

    private func expectLibavsOwn(_ bytes: [UInt8], _ what: String) throws {
        let both = try WalkedBothWays(bytes)
        #expect(both.difference == nil, "\(what)")
        #expect(both.walkedStreams.isEmpty, "\(what)")
    }

    /// Boxes that would alter packets, and boxes that show that a file is more complex than it seems.
    @Test func boxesThatAreNotPlainStayWithLibav() throws {
        let renamings: [(String, String)] = [
            ("sgpd", "ctts"), ("sgpd", "stss"), ("sgpd", "sdtp"), ("sgpd", "saiz"), ("sgpd", "wild"), ("free", "moof"),
            ("free", "sidx"), ("free", "uuid"), ("udta", "mvex"), ("edts", "mdia"), ("mp4a", "enca"), ("mp4a", ".mp3"),
            ("smhd", "stbl"), ("dinf", "stbl"), ("stsc", "skip"),
        ]
        for (name, other) in renamings {
            var bytes = back
            let place = try #require(Bytes.find(name, in: bytes))
            bytes.replaceSubrange(place..<(place + 4), with: Array(other.utf8))
            try expectLibavsOwn(bytes, "\(name) is \(other)")
        }
        var bytes = back
        let groups = try #require(Bytes.find("sbgp", in: bytes))
        let group = try #require(Bytes.find("roll", in: bytes, from: groups))
        bytes.replaceSubrange(group..<(group + 4), with: Array("rap ".utf8))
        try expectLibavsOwn(bytes, "a group of another kind")
        bytes = back
        bytes[try #require(Bytes.find("url ", in: bytes)) + 7] = 0
        try expectLibavsOwn(bytes, "samples in another file")
    }

    /// Changes random words of any table. Each part makes forty corruptions.
    @Test(arguments: 0..<12 as Range<UInt64>) func corruptedTablesEndAlike(part: UInt64) throws {
        var generator = SeededGenerator(seed: 1000 + part)
        var walked = 0
        let layouts: [[Int]] = [[1], [3, 5], [400]]
        for number in 0..<40 {
            let runs = tables.durations.map { $0 + (number % 4 == 0 ? Int(generator.next() % 2) : 0) }
            let isWide = number % 3 == 0
            var bytes = try tables.written(durations: runs, perChunk: layouts[number % 3], isWide: isWide)
            for _ in 0...(generator.next() % 3) {
                let name = ["stsz", "stts", "stsc", isWide ? "co64" : "stco", "stsz", "elst", "mdhd"][
                    Int(generator.next() % 7)
                ]
                guard let found = Bytes.find(name, in: bytes), case let place = found + 4 else { continue }
                let count = Int(try Bytes.big(UInt32.self, in: bytes, at: place - 8)) / 4 - 2
                let word = place + 4 * Int(generator.next() % UInt64(count))
                let old = try Bytes.big(UInt32.self, in: bytes, at: word)
                let new: UInt32 =
                    switch generator.next() % 6 {
                    case 0: old ^ 1 << UInt32(generator.next() % 32)
                    case 1: 0
                    case 2: .max
                    case 3: UInt32(truncatingIfNeeded: generator.next())
                    case 4: old &+ UInt32(generator.next() % 5) &- 2
                    default: UInt32(generator.next() % 300)
                    }
                bytes.replaceSubrange(word..<(word + 4), with: bigEndianBytes(Int64(new), count: 4))
            }
            let both = try WalkedBothWays(bytes)
            #expect(both.difference == nil, "number \(number) of part \(part)")
            if both.walkedStreams == [0] { walked += 1 }
        }
        // The reader rejects most at once. In the others the damage shows while reading.
        #expect(walked > 2)
    }

    /// The tables change, or are cut off, while they are read.
    @Test func tablesThatChangeUnderOurFeetAreAnError() throws {
        let folder = try TemporaryFolder.create()
        let path = folder.path("a.m4a")
        for (name, word) in [("stts", 2), ("stts", 3), ("stsc", 2), ("stsc", 3), ("stco", 1), ("stsz", 3)] {
            for value: UInt32 in [0, 3, 0x7FFF_FFFF, 0xFFFF_FFFF] {
                try Bytes.write(back, to: path)
                let file = try OpenFile.reading(path)
                var options = Reader.Options()
                options.sampleTables = WalkedBothWays.rules()
                let reader = try Reader(descriptor: file.descriptor, options: options)
                #expect(reader.demuxer.walks.keys.sorted() == [0])
                var bytes = back
                try Self.set(word, of: name, to: value, in: &bytes)
                try Bytes.overwrite(path, at: 0, with: bytes)
                // It must only end; any result is fine for such a file.
                _ = Converted.code {
                    let output = try reader.samples(of: reader.track())
                    var block = try SampleBlock()
                    while try output.next(into: &block) {}
                }
            }
        }
        try Bytes.write(back, to: path)
        let file = try OpenFile.reading(path)
        var options = Reader.Options()
        options.sampleTables = WalkedBothWays.rules()
        let reader = try Reader(descriptor: file.descriptor, options: options)
        let output = try reader.samples(of: reader.track())
        let stbl = try #require(Bytes.find("stbl", in: back))
        try Bytes.truncate(path, to: stbl)
        var block = try SampleBlock()
        let code = Converted.code { while try output.next(into: &block) {} }
        #expect(code == .corruptStream)
    }
}
