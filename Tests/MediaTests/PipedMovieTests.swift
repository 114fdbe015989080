import Conversion
import TestSupport
import Testing

@testable import Media

/// MP4 in a pipe: what its header knows of the sound, and what follows.
@Suite struct PipedMovieTests {
    private let folder: TemporaryFolder
    private static let sound = Signal.noise(seed: 71, rate: 44_100, frames: 150_001, amplitude: 0.2).pcm(.s16)

    init() throws { folder = try TemporaryFolder.create() }

    private static let fragments = [
        "empty_moov", "empty_moov+frag_keyframe", "empty_moov+default_base_moof", "cmaf", "frag_keyframe",
        "frag_keyframe+delay_moov",
    ]

    private func bytes(_ codec: [String], _ flags: String) throws -> [UInt8] {
        let path = folder.path("a.mp4")
        try FFmpeg.encode(
            Self.sound,
            to: path,
            ["-c:a"] + codec + ["-frag_duration", "500000", "-movflags", "+" + flags]
        )
        return try Bytes.read(path)
    }

    private func decoded(_ bytes: [UInt8]) throws -> Decoded {
        let pipe = try FilledPipe.holding(bytes)
        return try Decoded.descriptor(pipe.reading)
    }

    /// Regression: only the first fragment was converted, and the result counted as complete.
    @Test(arguments: ["alac", "aac"], fragments) func aPipeGivesAllFragments(codec: String, flags: String) throws {
        let pipe = try decoded(try bytes([codec], flags))
        let file = try Decoded.file(folder.path("a.mp4"))
        #expect(pipe.frames >= Self.sound.frames && pipe.frames == file.frames)
        let isSame = pipe.bytes == file.bytes
        #expect(isSame)
        #expect(pipe.track.length == .none && pipe.damage.isEmpty)
        guard codec == "alac" else { return }
        let isTheSound = pipe.pcm.converted(to: .s16) == Self.sound
        #expect(isTheSound)
    }

    /// Regression: the whole last packet was sound. Without an edit list, the priming of the encoder is.
    @Test(arguments: fragments) func thePaddingOfTheLastFragmentIsNoSound(flags: String) throws {
        let pipe = try decoded(try bytes(["aac"], flags))
        let file = try Decoded.file(folder.path("a.mp4"))
        let hasEdits = Bytes.find("edts", in: try Bytes.read(folder.path("a.mp4"))) != nil
        #expect(file.frames == Self.sound.frames + (hasEdits ? 0 : 1_024) && pipe.frames == file.frames)
        let whole = try FFmpeg.decode(folder.path("a.mp4"), to: .f32)
        let isSame = try file.pcm == whole.cut(0..<file.frames)
        #expect(isSame || hasEdits)
    }

    /// Regression: 1,024 frames at 48 kHz are 21 or 22 ms, and the last 21 ms were taken for 1,008 frames and padding.
    @Test func durationsInMillisecondsShowNoPadding() throws {
        let sound = Signal.noise(seed: 72, rate: 48_000, frames: 92 * 1_024, amplitude: 0.2).pcm(.s16)
        let path = folder.path("a.mp4")
        let flags = "+empty_moov+default_base_moof+frag_every_frame"
        try FFmpeg.encode(sound, to: path, ["-c:a", "aac", "-movflags", flags])
        var bytes = try Bytes.read(path)
        func set(_ number: Int, at place: Int) {
            bytes.replaceSubrange(place..<(place + 4), with: bigEndianBytes(Int64(number), count: 4))
        }
        func box(_ name: String, from start: Int) throws -> Int {
            try #require(Bytes.find(name, in: bytes, from: start))
        }
        func milliseconds(_ packets: Int) -> Int { (packets * 1_024 + 24) / 48 }
        set(1_000, at: try box("mdhd", from: 0) + 16)
        var (packets, place) = (0, 0)
        while let fragment = Bytes.find("moof", in: bytes, from: place) {
            let (header, time) = (try box("tfhd", from: fragment), try box("tfdt", from: fragment))
            // Version 1 of the time has 64 bits. The header states the duration of the one sample.
            #expect(bytes[header + 7] & 0x3B == 0x38 && bytes[time + 4] == 1)
            set(milliseconds(packets), at: time + 12)
            set(milliseconds(packets + 1) - milliseconds(packets), at: header + 12)
            (packets, place) = (packets + 1, fragment + 8)
        }
        #expect(packets == 93 && milliseconds(93) - milliseconds(92) == 21)
        try Bytes.write(bytes, to: path)
        let file = try Decoded.file(path)
        #expect(file.frames == 93 * 1_024 && file.damage.isEmpty)
        #expect(try decoded(bytes).frames == file.frames)
    }

    @Test func randomAccessEndsWhereReadingDoes() throws {
        // A decoder's noise depends on where it began.
        _ = try bytes(["aac", "-aac_pns", "0"], "empty_moov+default_base_moof")
        let file = try Decoded.file(folder.path("a.mp4"))
        let access = try RandomAccess(folder.path("a.mp4"))
        let tail = (file.frames - 700)..<file.frames
        let isSame = try access.pcm(tail) == file.pcm.cut(tail)
        #expect(isSame)
        #expect(Converted.code { _ = try access.pcm(0..<(file.frames + 1)) } == .rangeOutsideSource)
    }

    /// Regression: a fragment of more than 1.5 seconds could be missing, with success. Its times alone may be a wrong number.
    @Test(arguments: [1, 2, 4]) func aMissingFragmentIsAGap(seconds: Int) throws {
        let path = folder.path("a.mp4")
        let sound = Signal.noise(seed: 72, rate: 44_100, frames: 600_000, amplitude: 0.2).pcm(.s16)
        let flags = ["-frag_duration", "\(seconds)000000", "-movflags", "+empty_moov+default_base_moof"]
        try FFmpeg.encode(sound, to: path, ["-c:a", "alac"] + flags)
        var bytes = try Bytes.read(path)
        let first = try #require(Bytes.find("moof", in: bytes))
        let second = try #require(Bytes.find("moof", in: bytes, from: first + 4))
        let third = try #require(Bytes.find("moof", in: bytes, from: second + 4))
        bytes.removeSubrange((second - 4)..<(third - 4))
        try Bytes.write(bytes, to: path)
        let pipe = try FilledPipe.holding(bytes)
        #expect(Converted.code { _ = try Decoded.file(path) } != nil)
        #expect(Converted.code { _ = try decoded(bytes) } != nil)
        for read in [
            try Decoded.file(path, damage: .skip), try Decoded.descriptor(pipe.reading, damage: .skip),
        ] {
            #expect(read.frames < sound.frames && read.damage.frames == Int64(sound.frames - read.frames))
        }
    }

    @Test func aConversionOfAPipeWritesAllFragments() throws {
        let pipe = try FilledPipe.holding(try bytes(["alac"], "empty_moov"))
        let output = try OpenFile.creating(folder.path("out.flac"))
        var request = Converter.Request(format: AudioFormat(container: .flac), verifies: true)
        request.refusesLoss = true
        let outcome = try Converter(request).run(from: pipe.reading, to: output.descriptor)
        #expect(outcome.sourceFrames == Int64(Self.sound.frames))
    }

    @Test(arguments: [1, 300, 20_000]) func aPipeThatBreaksOffInAFragmentIsTruncated(cut: Int) throws {
        let whole = try bytes(["alac"], "empty_moov+default_base_moof+skip_trailer")
        let code = Converted.code { _ = try decoded(Array(whole.dropLast(cut))) }
        #expect(code == .truncated)
    }

    /// The header of a whole movie counts the same in a pipe as in a file.
    @Test(arguments: [["alac"], ["aac"], ["aac", "-ar", "22050"], ["libopus", "-ar", "48000"], ["pcm_s16le"]])
    func aPipeGivesTheFramesOfTheFile(codec: [String]) throws {
        let path = folder.path(codec[0] == "pcm_s16le" ? "a.mov" : "a.mp4")
        try FFmpeg.encode(Self.sound, to: path, ["-c:a"] + codec + ["-movflags", "+faststart"])
        let (pipe, file) = (try decoded(try Bytes.read(path)), try Decoded.file(path))
        #expect(pipe.frames == file.frames && pipe.frames > 70_000)
        let isSame = pipe.bytes == file.bytes
        #expect(isSame)
    }

    /// Regression: libav looks for another box behind such sound, and the end of the pipe counted as a cut.
    @Test(arguments: ["aac", "alac"], [true, false])
    func soundOfUnstatedSizeReachesToTheEndOfThePipe(codec: String, hasEdits: Bool) throws {
        let path = folder.path("a.m4a")
        try FFmpeg.encode(Self.sound, to: path, ["-c:a", codec, "-movflags", "+faststart"])
        var bytes = try Bytes.read(path)
        let media = try #require(Bytes.find("mdat", in: bytes)) - 4
        bytes.replaceSubrange(media..<(media + 4), with: [0, 0, 0, 0])
        if !hasEdits {
            let edits = try #require(Bytes.find("edts", in: bytes))
            bytes.replaceSubrange(edits..<(edits + 4), with: Array("free".utf8))
        }
        try Bytes.write(bytes, to: path)
        let (pipe, file) = (try decoded(bytes), try Decoded.file(path))
        #expect(pipe.frames == file.frames && pipe.damage.isEmpty && pipe.frames >= Self.sound.frames)
        let isSame = pipe.bytes == file.bytes
        #expect(isSame)
        let cut = Array(bytes.dropLast(2_000))
        #expect(Converted.code { _ = try decoded(cut) } == .truncated)
    }

    /// A header that leaves out seconds of sound makes no complete conversion of the part that it counts.
    @Test func soundBehindTheStatedLengthIsReported() throws {
        let path = folder.path("a.m4a")
        try FFmpeg.encode(Self.sound, to: path, ["-c:a", "alac"])
        var bytes = try Bytes.read(path)
        let header = try #require(Bytes.find("mdhd", in: bytes)) + 4
        bytes.replaceSubrange((header + 16)..<(header + 20), with: bigEndianBytes(50_000, count: 4))
        try Bytes.write(bytes, to: path)
        #expect(Converted.code { _ = try Decoded.file(path) } == .uncountedSound)
        #expect(try Decoded.file(path, damage: .skip).damage.stretchCount == 1)
    }
}

/// The boxes of a pipe, which pass once and in pieces.
@Suite struct BoxTrailTests {
    private func box(_ name: String, _ content: [UInt8] = [], isWide: Bool = false) -> [UInt8] {
        let size = Int64(content.count + (isWide ? 16 : 8))
        let head = isWide ? bigEndianBytes(1, count: 4) : bigEndianBytes(size, count: 4)
        return head + Array(name.utf8) + (isWide ? bigEndianBytes(size, count: 8) : []) + content
    }

    private func trail(_ bytes: [UInt8], inPiecesOf count: Int) -> BoxTrail {
        let trail = BoxTrail()
        for start in stride(from: 0, to: bytes.count, by: count) {
            Array(bytes[start...].prefix(count)).withUnsafeBufferPointer(trail.pass)
        }
        return trail
    }

    private var header: [UInt8] { box("ftyp", [1, 2, 3, 4]) + box("free") }
    private var track: [UInt8] { box("mvhd", [UInt8](repeating: 0, count: 100)) + box("trak", box("mvex", [9])) }
    private var fragment: [UInt8] {
        box("moof", [7, 7]) + box("mdat", [UInt8](repeating: 1, count: 333), isWide: true)
    }

    @Test(arguments: [1, 5, 8, 16, 4_096]) func theHeaderTellsOfFragments(count: Int) {
        for isWide in [false, true] {
            let plain = header + box("moov", track + box("udta"), isWide: isWide) + box("mdat", [1, 2, 3])
            #expect(!trail(plain, inPiecesOf: count).isFragmented)
            let fragmented = header + box("moov", track + box("mvex") + box("udta"), isWide: isWide)
            #expect(trail(fragmented, inPiecesOf: count).isFragmented)
            #expect(trail(plain + fragment, inPiecesOf: count).isFragmented)
        }
    }

    @Test(arguments: [1, 7, 1_000]) func aFragmentThatIsCutIsABrokenChain(count: Int) {
        let whole = header + box("moov", track + box("mvex")) + fragment + fragment
        #expect(!trail(whole, inPiecesOf: count).isBroken)
        for cut in [1, 100, 300] { #expect(trail(Array(whole.dropLast(cut)), inPiecesOf: count).isBroken) }
        #expect(trail(whole + [0, 0, 1], inPiecesOf: count).isBroken)
        // The index at the end holds no sound.
        #expect(!trail(whole + box("mfra", [1, 2, 3]).dropLast(2), inPiecesOf: count).isBroken)
    }

    @Test(arguments: [1, 7, 16, 1_000]) func theTableOfTheLastFragmentIsKept(count: Int) {
        let last = box("moof", [UInt8](repeating: 8, count: 77))
        let start = header + box("moov", track + box("mvex"))
        let whole = start + fragment + last + box("mdat", [1, 2, 3])
        #expect(trail(whole, inPiecesOf: count).lastFragment == last)
        #expect(trail(start, inPiecesOf: count).lastFragment == nil)
        #expect(trail(start + last.dropLast(5), inPiecesOf: count).lastFragment == nil)
    }

    /// A table of three samples whose durations stand in each sample, or in the head for all of them.
    @Test func theLastDurationIsThatOfTheLastSample() {
        func words(_ numbers: Int64...) -> [UInt8] { numbers.flatMap { bigEndianBytes($0, count: 4) } }
        let other = box("traf", box("tfhd", words(0x08, 9, 5)) + box("trun", words(0, 1)))
        let each = box("tfhd", words(0, 2)) + box("trun", words(0x301, 3, 400, 1_024, 7, 1_024, 8, 499, 9))
        #expect(LastFragment.duration(ofTrack: 2, in: box("moof", other + box("traf", each))) == 499)
        let usual = box("tfhd", words(0x08, 2, 499)) + box("trun", words(1, 1, 400))
        #expect(LastFragment.duration(ofTrack: 2, in: box("moof", other + box("traf", usual))) == 499)
        let swinging = box("tfhd", words(0, 2)) + box("trun", words(0x101, 3, 400, 1_023, 1_025, 1_023))
        #expect(LastFragment.duration(ofTrack: 2, in: box("moof", box("traf", swinging))) == nil)
        let silent = box("tfhd", words(0, 2)) + box("trun", words(1, 1, 400))
        #expect(LastFragment.duration(ofTrack: 2, in: box("moof", box("traf", silent))) == nil)
        let cut = box("tfhd", words(0, 2)) + box("trun", words(0x301, 3, 400, 1_024, 7))
        #expect(LastFragment.duration(ofTrack: 2, in: box("moof", box("traf", cut))) == nil)
    }

    /// Regression: a crash, where a box in the header would end with the last of all numbers.
    @Test func sizesAtTheEndOfAllNumbersAreNotAdded() {
        func head(_ name: String, _ size: Int64) -> [UInt8] {
            bigEndianBytes(1, count: 4) + Array(name.utf8) + bigEndianBytes(size, count: 8)
        }
        let place = Int64(header.count)
        for gap in Int64(1)...10 {
            let movie = head("moov", Int64.max - place - gap)
            let inner = head("free", Int64.max - place - gap - 16 - 1)
            #expect(!trail(header + movie + inner + [0, 0, 0, 0], inPiecesOf: 64).isFragmented)
        }
    }

    @Test(arguments: [1, 7, 24, 1_000]) func fragmentsBehindMissingNumbersAreKnown(count: Int) {
        func numbered(_ number: Int64) -> [UInt8] {
            box("moof", box("mfhd", bigEndianBytes(number, count: 8)) + [9, 9]) + box("mdat", [1, 2, 3])
        }
        let start = header + box("moov", track + box("mvex"))
        let all = [3, 4, 6, 7, 1, 2].map(numbered)
        let gaps = trail(start + all.flatMap { $0 }, inPiecesOf: count).gaps.ranges
        let place = Int64(start.count + 2 * all[0].count)
        #expect(gaps == [place..<(place + Int64(all[0].count))])
    }

    /// Regression: a last run of one sample was compared with none of the other runs, as of a recorder that stamps its samples.
    @Test(
        arguments: [([1_024, 1_024], 499, 499), ([1_010, 1_038], 1_020, nil), ([480], 480, nil)]
            as [([Int64], Int64, Int64?)]
    )
    func theRunsOfAFragmentAreComparedTogether(others: [Int64], last: Int64, expected: Int64?) {
        func words(_ numbers: [Int64]) -> [UInt8] { numbers.flatMap { bigEndianBytes($0, count: 4) } }
        func run(_ durations: [Int64]) -> [UInt8] {
            let head: [Int64] = [0x100, Int64(durations.count)]
            return box("trun", words(head + durations))
        }
        let table: [UInt8] = box("tfhd", words([0, 2])) + run(others) + run([last])
        let fragment = box("moof", box("traf", table))
        #expect(LastFragment.duration(ofTrack: 2, in: fragment) == expected)
    }

    @Test func whatIsNoBoxEndsTheTrail() {
        #expect(!trail([UInt8](repeating: 0xFF, count: 500), inPiecesOf: 64).isFragmented)
        #expect(!trail(bigEndianBytes(1, count: 4) + Array("mdat".utf8), inPiecesOf: 3).isBroken)
    }
}
