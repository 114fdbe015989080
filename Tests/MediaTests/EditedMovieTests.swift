import Conversion
import TestSupport
import Testing

@testable import Media

/// MP4 and QuickTime whose edit lists play parts of the sound, in any order and with silence between them.
@Suite struct EditedMovieTests {
    private let folder: TemporaryFolder
    private static let rate = 44_100
    private static let sound = Signal.noise(seed: 74, rate: rate, frames: 400_000, channels: 2, amplitude: 0.2)
        .pcm(.s16)

    init() throws { folder = try TemporaryFolder.create() }

    typealias Edit = MP4Bytes.Edit

    /// A file with this edit list, and all frames of its packets by another decoder.
    private func made(_ suffix: String, _ codec: [String]) throws -> (path: String, whole: PCM) {
        let path = folder.path("a.\(suffix)")
        try FFmpeg.encode(Self.sound, to: path, ["-c:a"] + codec)
        var bytes = try Bytes.read(path)
        let edits = try #require(Bytes.find("edts", in: bytes))
        let plain = folder.path("plain.\(suffix)")
        bytes.replaceSubrange(edits..<(edits + 4), with: Array("free".utf8))
        try Bytes.write(bytes, to: plain)
        return (path, try FFmpeg.decode(plain, to: codec[0] == "aac" ? .f32 : .s16))
    }

    /// What the edits play, if a tick of the movie is one of `ticks` in a second.
    private func played(_ edits: [Edit], of whole: PCM, ticks: Int) throws -> PCM {
        var (place, parts) = (0, [PCM]())
        func frames(_ count: Int) -> Int { (count * Self.rate + ticks / 2) / ticks }
        for edit in edits {
            let length = frames(place + edit.length) - frames(place)
            place += edit.length
            if edit.start < 0 {
                let bytes = [UInt8](repeating: 0, count: length * whole.bytesPerFrame)
                parts.append(PCM(rate: whole.rate, channels: whole.channels, format: whole.format, bytes: bytes))
            } else {
                parts.append(try whole.cut(edit.start..<(edit.start + length)))
            }
        }
        return try PCM.joined(parts)
    }

    private func check(_ path: String, _ whole: PCM, _ edits: [Edit], ticks: Int = rate) throws {
        try MP4Bytes.setEdits(path, movieTimescale: ticks, edits)
        let expected = try played(edits, of: whole, ticks: ticks)
        let read = try Decoded.file(path)
        #expect(read.frames == expected.frames && read.track.length == .exact(Int64(expected.frames)))
        let isSame = read.pcm.converted(to: whole.format) == expected
        #expect(isSame)
        #expect(read.damage.isEmpty)
    }

    private static let lists: [[Edit]] = [
        [Edit(length: 50_000, start: 0), Edit(length: 60_000, start: 100_000)],
        [Edit(length: 50_000, start: 300_000), Edit(length: 60_000, start: 1_000)],
        [Edit(length: 1_000, start: 5_000), Edit(length: 30_000, start: -1), Edit(length: 1_000, start: 6_000)],
        [Edit(length: 70_000, start: 2_048), Edit(length: 70_000, start: 2_048), Edit(length: 99, start: -1)],
        [Edit(length: 10, start: 4_095), Edit(length: 1, start: 9), Edit(length: 5_000, start: 200_001)],
    ]

    /// Regression: parts began at whole packets, and silence between them was left out.
    @Test(arguments: [("m4a", "alac"), ("mov", "pcm_s16le"), ("m4a", "aac")])
    func partsAreHeardInTheirOrder(suffix: String, codec: String) throws {
        // Substituted noise (PNS) differs after a skip.
        let (path, whole) = try made(suffix, codec == "aac" ? ["aac", "-aac_pns", "0"] : [codec])
        for edits in Self.lists { try check(path, whole, edits) }
    }

    @Test(arguments: [600, 1_000, 44_100, 90_000]) func ticksAreRoundedToTheNearestFrame(ticks: Int) throws {
        let (path, whole) = try made("m4a", ["alac"])
        let second = Edit(length: ticks, start: 12_345)
        try check(
            path,
            whole,
            [Edit(length: ticks / 7, start: 5), Edit(length: ticks / 3, start: -1), second],
            ticks: ticks
        )
        try check(path, whole, [second, Edit(length: 2 * ticks + 1, start: 77_777), second], ticks: ticks)
    }

    @Test func randomListsArePlayedToTheFrame() throws {
        let (path, whole) = try made("m4a", ["alac"])
        var generator = SeededGenerator(seed: 75)
        for _ in 0..<20 {
            var edits = [Edit(length: generator.whole(in: 1..<5_000), start: generator.whole(in: 0..<100_000))]
            for _ in 0..<generator.whole(in: 1..<7) {
                let length = generator.whole(in: 1..<60_000)
                let isSilent = generator.whole(in: 0..<4) == 0
                edits.append(Edit(length: length, start: isSilent ? -1 : generator.whole(in: 0..<300_000)))
            }
            try check(path, whole, edits)
        }
    }

    /// Where the sound begins in the movie does not make it longer, and an edit without a length reaches to the end.
    @Test func theFirstAndTheLastEditMayBeOpen() throws {
        let (path, whole) = try made("m4a", ["alac"])
        try MP4Bytes.setEdits(
            path,
            movieTimescale: Self.rate,
            [Edit(length: 9_000, start: -1), Edit(length: 400, start: 7), Edit(length: 0, start: 390_000)]
        )
        let expected = try PCM.joined([whole.cut(7..<407), whole.cut(390_000..<400_000)])
        #expect(try Decoded.file(path).pcm.converted(to: .s16) == expected)
        // A last edit that is rounded down ends with the track.
        try MP4Bytes.setEdits(
            path,
            movieTimescale: 1_000,
            [Edit(length: 1_000, start: 44_100), Edit(length: (400_000 - 7) * 1_000 / Self.rate, start: 7)]
        )
        let whole2 = try PCM.joined([whole.cut(44_100..<88_200), whole.cut(7..<400_000)])
        #expect(try Decoded.file(path).pcm.converted(to: .s16) == whole2)
    }

    /// Regression: the end of the sound was left out, as much of it as the priming.
    @Test(arguments: [("m4a", ["aac"], 1_024), ("mp4", ["libopus", "-ar", "48000"], 312)])
    func lengthOfTheMediaMayLeaveOutThePriming(suffix: String, codec: [String], priming: Int) throws {
        let path = folder.path("a.\(suffix)")
        try FFmpeg.encode(Self.sound, to: path, ["-c:a"] + codec + ["-movflags", "+faststart"])
        let whole = try Decoded.file(path)
        var bytes = try Bytes.read(path)
        let header = try #require(Bytes.find("mdhd", in: bytes)) + 4
        let stated = Int64(try Bytes.big(UInt32.self, in: bytes, at: header + 16))
        let place = (header + 16)..<(header + 20)
        bytes.replaceSubrange(place, with: bigEndianBytes(stated - Int64(priming), count: 4))
        try Bytes.write(bytes, to: path)
        let (read, pipe) = (try Decoded.file(path), try FilledPipe.holding(bytes))
        #expect(read.track.length == whole.track.length && read.frames == whole.frames)
        let isSame = read.bytes == whole.bytes
        #expect(isSame && read.damage.isEmpty)
        let isSameInPipe = try Decoded.descriptor(pipe.reading).bytes == whole.bytes
        #expect(isSameInPipe)
    }

    @Test func rangesCountOnTheTimeLine() throws {
        let (path, whole) = try made("m4a", ["alac"])
        let edits = Self.lists[2] + Self.lists[1]
        try check(path, whole, edits)
        let expected = try played(edits, of: whole, ticks: Self.rate)
        let parts = [500..<1_500, 0..<expected.frames, 31_900..<33_000, 20_000..<20_001, 90_000..<142_000]
        let ranges = try parts.map { part in
            try MediaTimeRange(
                start: MediaTime(value: Int64(part.lowerBound), timescale: Int32(Self.rate)),
                end: MediaTime(value: Int64(part.upperBound), timescale: Int32(Self.rate))
            )
        }
        let cuts = try PCM.joined(parts.map { try expected.cut($0) })
        #expect(try ReadBack.file(path, ranges).pcm.converted(to: .s16) == cuts)
        let access = try RandomAccess(path)
        #expect(try access.reader.frames == Int64(expected.frames))
        for part in parts.reversed() {
            #expect(try access.pcm(part).converted(to: .s16) == expected.cut(part))
        }
        #expect(Converted.code { _ = try access.pcm(0..<(expected.frames + 1)) } == .rangeOutsideSource)
    }

    /// The tables of long tracks are read here and not by libav.
    @Test func partsOfALongTrackAreHeardToo() throws {
        let (path, whole) = try made("m4a", ["alac"])
        for edits in Self.lists {
            try MP4Bytes.setEdits(path, movieTimescale: Self.rate, edits)
            var options = Reader.Options()
            options.sampleTables = WalkedBothWays.rules()
            let read = try ReadBack.file(path, options: options)
            #expect(try read.pcm.converted(to: .s16) == played(edits, of: whole, ticks: Self.rate))
        }
    }

    @Test func anEditedFileIsConvertedAndVerified() throws {
        let (path, whole) = try made("m4a", ["alac"])
        try check(path, whole, Self.lists[3])
        let expected = try played(Self.lists[3], of: whole, ticks: Self.rate)
        let output = folder.path("out.flac")
        let outcome = try Converted.file(path, to: output, as: AudioFormat(container: .flac), verifies: true)
        #expect(outcome.sourceFrames == Int64(expected.frames))
        #expect(try FFmpeg.decode(output) == expected)
        // Packets cannot be copied in another order.
        let copy = AudioFormat(container: .m4a, codec: .copy)
        let code = Converted.code { try Converted.file(path, to: folder.path("copy.m4a"), as: copy) }
        #expect(code == .passthroughRefused)
    }

    @Test func aPipePlaysPartsThatFollowOneAnother() throws {
        let sound = try Self.sound.cut(0..<100_000)
        let path = folder.path("small.m4a")
        func piped(_ edits: [Edit], behind padding: Int = 0) throws -> Decoded {
            try FFmpeg.encode(sound, to: path, ["-c:a", "alac"])
            try MP4Bytes.setEdits(path, movieTimescale: Self.rate, edits)
            let front = folder.path("front.m4a")
            try Bytes.write(Self.movedToFront(try Bytes.read(path), behind: padding), to: front)
            let pipe = try FilledPipe.holding(try Bytes.read(front))
            return try Decoded.descriptor(pipe.reading)
        }
        let forwards = [
            Edit(length: 20_000, start: 100), Edit(length: 500, start: -1), Edit(length: 9_000, start: 70_000),
        ]
        let read = try piped(forwards)
        #expect(try read.pcm.converted(to: .s16) == played(forwards, of: sound, ticks: Self.rate))
        let code = Converted.code { _ = try piped(forwards.reversed()) }
        #expect(code == .sourceNotSeekable)
        // libav has read an edit list that lies far from the start before it can be hidden.
        #expect(Converted.code { _ = try piped(forwards, behind: 300_000) } == .sourceNotSeekable)
    }

    /// The same file with its last box, `moov`, in front of its sound. The boxes in it lie behind `padding` bytes.
    private static func movedToFront(_ bytes: [UInt8], behind padding: Int) throws -> [UInt8] {
        let moov = try #require(Bytes.find("moov", in: bytes)) - 4
        let media = try #require(Bytes.find("mdat", in: bytes)) - 4
        var movie = Array(bytes[moov...])
        if padding > 0 {
            let free = bigEndianBytes(Int64(padding), count: 4) + Array("free".utf8)
            movie.insert(contentsOf: free + [UInt8](repeating: 0, count: padding - free.count), at: 8)
            movie.replaceSubrange(..<4, with: bigEndianBytes(Int64(movie.count), count: 4))
        }
        let table = try #require(Bytes.find("stco", in: movie)) + 8
        for entry in 0..<Int(try Bytes.big(UInt32.self, in: movie, at: table)) {
            let place = table + 4 + 4 * entry
            let offset = try Bytes.big(UInt32.self, in: movie, at: place) + UInt32(movie.count)
            movie.replaceSubrange(place..<(place + 4), with: bigEndianBytes(Int64(offset), count: 4))
        }
        return Array(bytes[..<media]) + movie + Array(bytes[media..<moov])
    }

    private static let listsOfFragments: [(edits: [Edit], isRefused: Bool)] = [
        (lists[0], true), ([Edit(length: 0, start: 1_024, rate: 2)], true), ([Edit(length: 0, start: 1_024)], false),
        ([Edit(length: 5_000, start: -1), Edit(length: 0, start: 1_024)], false),
    ]

    /// Regression: all fragments were played once, whatever the list says, and the priming behind silence was sound.
    @Test(arguments: listsOfFragments) func partsOfFragmentsAreRefused(list: (edits: [Edit], isRefused: Bool)) throws {
        let path = folder.path("a.mp4")
        let flags = "+frag_keyframe+delay_moov+default_base_moof"
        try FFmpeg.encode(Self.sound, to: path, ["-c:a", "aac", "-frag_duration", "500000", "-movflags", flags])
        let plain = try Decoded.file(path).pcm
        try MP4Bytes.setEdits(path, movieTimescale: Self.rate, list.edits)
        let pipe = try FilledPipe.holding(try Bytes.read(path))
        let reads: [() throws -> Decoded] = [{ try Decoded.file(path) }, { try Decoded.descriptor(pipe.reading) }]
        for read in reads {
            if list.isRefused {
                #expect(Converted.code { _ = try read() } == .unsupportedEditList)
            } else {
                let isSame = try read().pcm == plain
                #expect(isSame && plain.frames == Self.sound.frames)
            }
        }
    }

    /// Regression: the parts that could be read were taken for all of them, and no part at all for an empty file.
    @Test func aListThatIsCutOrPlaysNothingIsRefused() throws {
        let (path, _) = try made("m4a", ["alac"])
        try MP4Bytes.setEdits(path, movieTimescale: Self.rate, Self.lists[0])
        let count = try #require(Bytes.find("elst", in: try Bytes.read(path))) + 8
        try Bytes.overwrite(path, at: count, with: [0, 0, 0, 3])
        #expect(Converted.code { _ = try Decoded.file(path) } == .unsupportedEditList)
        let beyond = [Edit(length: 50_000, start: 500_000), Edit(length: 100, start: 400_000)]
        try MP4Bytes.setEdits(path, movieTimescale: Self.rate, beyond)
        #expect(Converted.code { _ = try Decoded.file(path) } == .unsupportedEditList)
    }

    /// Regression: the sound was converted at the rate at which it was recorded, without a remark.
    @Test(arguments: [2, 0.5, 0]) func anotherRateIsRefused(rate: Double) throws {
        let (path, _) = try made("m4a", ["alac"])
        try MP4Bytes.setEdits(path, movieTimescale: Self.rate, [Edit(length: 50_000, start: 0, rate: rate)])
        let error = #expect(throws: MediaError.self) { try Decoded.file(path) }
        #expect(error?.code == .unsupportedEditList && error?.detail.contains("\(rate)") == true)
        let file = try OpenFile.reading(path)
        #expect(try Reader(descriptor: file.descriptor).description.tracks.count == 1)
    }
}

/// A time line that is not that of the packets.
@Suite struct EditedTimeTests {
    private let time = EditedTime(
        [
            .init(start: 100, frames: 50), .init(start: nil, frames: 20), .init(start: 0, frames: 0),
            .init(start: 90, frames: 30),
        ],
        of: .exact(200)
    )

    @Test func rangesAreSplitWherePartsMeet() throws {
        let time = try #require(time)
        #expect(time.frames == 100)
        #expect(
            time.parts(of: 0..<Int64.max) == [
                .init(range: 100..<150, shift: -100), .init(range: 0..<20, isSilent: true, shift: 50),
                .init(range: 90..<120, shift: -20),
            ]
        )
        #expect(time.parts(of: 10..<12) == [.init(range: 110..<112, shift: -100)])
        #expect(
            time.parts(of: 60..<71) == [
                .init(range: 0..<10, isSilent: true, shift: 60), .init(range: 90..<91, shift: -20),
            ]
        )
        #expect(time.parts(of: 100..<Int64.max).isEmpty && time.parts(of: 5..<5).isEmpty)
    }

    @Test func aCursorGoesThroughParts() throws {
        var cursor = RangeCursor([0..<Int64.max], time)
        #expect(cursor.frames(of: nil) == 100 && cursor.mayTurnBack && !cursor.isWhole)
        #expect(cursor.current == 100..<150 && cursor.silenceLeft == nil && cursor.shift == -100)
        #expect(cursor.keeps(80..<160) == true)
        #expect(cursor.advance(at: 160) == .onwards)
        #expect(cursor.silenceLeft == 20)
        #expect(cursor.giveSilence(15) == 50)
        #expect(cursor.silenceLeft == 5)
        #expect(cursor.giveSilence(5) == 65)
        #expect(cursor.silenceLeft == 0)
        #expect(cursor.advance(at: 160) == .heldBlock)
        #expect(cursor.current == 90..<120 && cursor.shift == -20)
        #expect(cursor.advance(at: 160) == .onwards)
        #expect(cursor.current == nil && cursor.shift == 0)
    }

    @Test func timesWithoutAnEndAreRefused() {
        let long = EditedTime.Piece(start: 0, frames: Plausible.frames)
        #expect(EditedTime([long], of: .none) != nil && EditedTime([long, long], of: .none) == nil)
        #expect(EditedTime([.init(start: -1, frames: 5)], of: .none) == nil)
    }
}
