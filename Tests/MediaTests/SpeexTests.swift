import Conversion
import TestSupport
import Testing

@testable import Media

/// Speex in Ogg, compared with `speexdec`. libav leaves the delays and the padding in.
@Suite struct SpeexTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    @Test(
        arguments: [
            (8_000, 1, "-n"), (16_000, 1, "-w"), (32_000, 1, "-u"), (16_000, 2, "-w"), (16_000, 1, "-w --nframes 3"),
            (8_000, 1, "-n --vbr --dtx"), (16_000, 1, "-w --quality 9"),
        ],
        [1_600, 50_123, 80_000]
    )
    func soundIsTheReferenceDecoders(kind: (rate: Int, channels: Int, options: String), frames: Int) throws {
        let clip = Signal.sweep(
            to: Double(kind.rate) / 8,
            rate: kind.rate,
            frames: frames,
            channels: kind.channels
        ).pcm(.s16)
        let (source, path) = (folder.path("in.wav"), folder.path("a.spx"))
        try WAVFile.write(clip, to: source)
        let options = kind.options.split(separator: " ").map(String.init)
        try Run.program("speexenc", ["--quiet"] + options + [source, path]).checked()
        let read = try ReadBack.file(path)
        let pcm = try read.pcm.converted(to: .s16)
        #expect(read.track.codecName == "speex" && read.damage.isEmpty)
        #expect(read.track.length == .exact(Int64(pcm.frames)))
        guard frames > 30_000 else {
            // A single page does not state where it begins, so `speexdec` plays the delays of encoder and decoder.
            #expect(pcm.frames == frames)
            return #expect(try abs(pcm.bestLag(against: clip, within: kind.rate / 50)) <= kind.rate / 4_000)
        }
        let heard = try Player.speexdec.decode(path, in: folder)
        try #require(heard.channels == pcm.channels)
        // Without enough padding, the end of the sound does not leave the decoder.
        #expect(pcm.frames == heard.frames && (frames - kind.rate / 200...frames).contains(pcm.frames))
        #expect(try pcm.snr(against: heard).min()! > 60)
    }

    /// The frames of the last packet that are padding vary with the length.
    @Test(arguments: [(8_000, "-n"), (16_000, "-w"), (32_000, "-u")])
    func endIsThatOfTheReferenceDecoder(kind: (rate: Int, option: String)) throws {
        let (source, path) = (folder.path("in.wav"), folder.path("a.spx"))
        for frames in stride(from: 50_000, to: 50_000 + kind.rate / 50, by: kind.rate / 200) {
            let clip = Signal.sweep(to: Double(kind.rate) / 8, rate: kind.rate, frames: frames).pcm(.s16)
            try WAVFile.write(clip, to: source)
            try Run.program("speexenc", ["--quiet", kind.option, source, path]).checked()
            let pcm = try ReadBack.file(path).pcm.converted(to: .s16)
            let heard = try Player.speexdec.decode(path, in: folder)
            #expect(pcm.frames == heard.frames, "\(frames)")
            #expect(try pcm.cut(0..<heard.frames).snr(against: heard).min()! > 60, "\(frames)")
        }
    }

    /// The header states the frames of a narrower band. Pages count frames, or as many as the header states.
    @Test(arguments: [true, false]) func headerWithHalfTheSizeOfAFrameLosesNothing(pagesCountFrames: Bool) throws {
        let (source, path, half) = (folder.path("in.wav"), folder.path("a.spx"), folder.path("half.spx"))
        try WAVFile.write(Signal.sweep(to: 2_000, rate: 16_000, frames: 50_124).pcm(.s16), to: source)
        try Run.program("speexenc", ["--quiet", "-w", source, path]).checked()
        var file = try OggFile(Bytes.read(path))
        file.headers[0].replaceSubrange(28 + 56..<28 + 60, with: [160, 0, 0, 0])
        if !pagesCountFrames {
            for (number, page) in file.sound.enumerated() {
                let granule = try Bytes.little(Int64.self, in: page, at: 6) / 2
                file.sound[number].replaceSubrange(6..<14, with: withUnsafeBytes(of: granule.littleEndian, Array.init))
            }
        }
        try Bytes.write(file.renumbered, to: half)
        let (whole, read) = (try ReadBack.file(path), try ReadBack.file(half))
        let (pcm, expected) = (try read.pcm, try whole.pcm)
        #expect(read.damage.isEmpty && read.track.length == .exact(Int64(pcm.frames)))
        // Half of an odd position puts the sound a frame later.
        let late = pagesCountFrames ? 0 : 1
        let common = min(pcm.frames, expected.frames) - late
        #expect(abs(pcm.frames - expected.frames) <= late)
        #expect(try pcm.cut(0..<common) == expected.cut(late..<common + late))
    }

    /// Regression: beside a cover or another stream, the delays were heard.
    @Test(arguments: [true, false]) func aCoverOrAnotherStreamChangesNothing(isCover: Bool) throws {
        let (source, plain, path) = (folder.path("in.wav"), folder.path("plain.spx"), folder.path("a.spx"))
        try WAVFile.write(Signal.sweep(to: 2_000, rate: 16_000, frames: 50_123).pcm(.s16), to: source)
        try Run.program("speexenc", ["--quiet", "-w", source, plain]).checked()
        if isCover {
            let bytes = try Covered.picture()
            let picture = try #require(Picture(bytes))
            let comment = "METADATA_BLOCK_PICTURE=" + PictureBlock.base64(picture)
            try Run.program("speexenc", ["--quiet", "-w", "--comment", comment, source, path]).checked()
        } else {
            var file = try OggFile(Bytes.read(plain))
            // A stream that nothing knows begins and ends with one page: its marks, position, number and content.
            let text = Array("a stream of notes".utf8)
            var page: [UInt8] = Array("OggS".utf8)
            page += [0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0x64, 0, 0, 0]
            page += [0, 0, 0, 0, 0, 0, 0, 0, 1, UInt8(text.count)]
            file.headers.insert(page + text, at: 1)
            try Bytes.write(file.renumbering { UInt32($0 < 2 ? 0 : $0 - 1) }, to: path)
        }
        let (read, whole) = (try ReadBack.file(path), try ReadBack.file(plain))
        #expect(read.damage.isEmpty && read.track.length == whole.track.length)
        #expect(try read.pcm == whole.pcm && read.pcm.frames == Player.speexdec.decode(plain, in: folder).frames)
    }

    /// Regression: positions that count in the frames of the header ended the process if they were great.
    @Test func greatestPositionIsRefused() throws {
        let (source, path) = (folder.path("in.wav"), folder.path("a.spx"))
        try WAVFile.write(Signal.sweep(to: 2_000, rate: 32_000, frames: 100_000).pcm(.s16), to: source)
        try Run.program("speexenc", ["--quiet", "-u", source, path]).checked()
        var file = try OggFile(Bytes.read(path))
        // A quarter of the size of a frame, and 64 frames in a packet.
        file.headers[0].replaceSubrange(28 + 56..<28 + 60, with: [160, 0, 0, 0])
        file.headers[0].replaceSubrange(28 + 64..<28 + 68, with: [64, 0, 0, 0])
        OggFile.setGranule(1, of: &file.sound[0])
        OggFile.setGranule(Plausible.frames, of: &file.sound[file.sound.count - 1])
        try Bytes.write(file.renumbered, to: path)
        #expect(Converted.code { _ = try ReadBack.file(path) } != nil)
    }

    /// The encoder fills its last packet with marks instead of frames, so the end of the sound may stay in the decoder.
    @Test func endInsideAPacketOfSeveralFramesIsNoLoss() throws {
        let (source, path) = (folder.path("in.wav"), folder.path("a.spx"))
        try WAVFile.write(Signal.sweep(to: 2_000, rate: 16_000, frames: 50_040).pcm(.s16), to: source)
        try Run.program("speexenc", ["--quiet", "-w", "--nframes", "3", source, path]).checked()
        let read = try ReadBack.file(path)
        #expect(try read.damage.isEmpty && read.pcm.frames == Player.speexdec.decode(path, in: folder).frames)
    }

    /// A pipe shows its end too late to cut the sound there, and libav states it with the last packet.
    @Test(arguments: [(8_000, "-n"), (16_000, "-w"), (16_000, "-w --nframes 3")], [1_600, 50_123, 50_040])
    func pipeSoundsAsTheFile(kind: (rate: Int, options: String), frames: Int) throws {
        let (source, path) = (folder.path("in.wav"), folder.path("a.spx"))
        try WAVFile.write(Signal.sweep(to: 1_000, rate: kind.rate, frames: frames).pcm(.s16), to: source)
        let options = kind.options.split(separator: " ").map(String.init)
        try Run.program("speexenc", ["--quiet"] + options + [source, path]).checked()
        let pipe = try FilledPipe.holding(Bytes.read(path))
        let read = try ReadBack(descriptor: pipe.reading)
        #expect(try read.damage.isEmpty && read.pcm == ReadBack.file(path).pcm)
    }

    /// The padding of a stream before another one is cut as at the end of a file.
    @Test func chainedStreamsSoundAsAlone() throws {
        let (source, all) = (folder.path("in.wav"), folder.path("all.spx"))
        var (joined, alone): ([UInt8], [PCM]) = ([], [])
        for (number, frames) in [50_123, 40_001].enumerated() {
            let path = folder.path("\(number).spx")
            try WAVFile.write(Signal.sweep(to: 1_000, rate: 16_000, frames: frames).pcm(.s16), to: source)
            // libav gives each file another serial number.
            try FFmpeg.encode(source, to: path, ["-c:a", "libspeex", "-f", "ogg"])
            joined += try Bytes.read(path)
            alone.append(try ReadBack.file(path).pcm)
        }
        try Bytes.write(joined, to: all)
        let read = try ReadBack.file(all)
        #expect(try read.damage.isEmpty && read.pcm == PCM.joined(alone))
    }

    @Test func cutFileIsTruncated() throws {
        let path = folder.path("a.spx")
        try WAVFile.write(Signal.sweep(rate: 16_000, frames: 160_000).pcm(.s16), to: folder.path("in.wav"))
        try Run.program("speexenc", ["--quiet", "-w", folder.path("in.wav"), path]).checked()
        try Bytes.truncate(path, toFraction: 0.6)
        #expect(Converted.code { _ = try ReadBack.file(path) } == .truncated)
    }
}

/// Formats of speech corpora and old recorders, written by SoX.
@Suite struct SoxFormatsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    @Test(arguments: [
        "a.sph", "a.sf", "a.sox", "a.voc", "mu.sph -e u-law", "al.sph -e a-law", "mu.sf -e u-law", "s8.voc -b 8",
        "a.8svx -b 8",
    ])
    func samplesAreThose(of line: String) throws {
        let words = line.split(separator: " ").map(String.init)
        let path = folder.path(words[0])
        try WAVFile.write(Signal.sweep(rate: 16_000, frames: 40_000, channels: 1).pcm(.s16), to: folder.path("in.wav"))
        try Run.program("sox", ["-D", folder.path("in.wav")] + words.dropFirst() + [path]).checked()
        let read = try ReadBack.file(path)
        let heard = try Player.sox.decode(path, in: folder)
        let pcm = try read.pcm.converted(to: .s16)
        #expect(read.damage.isEmpty)
        // SoX states the length of its own 16-bit block eight bytes too short.
        let common = 0..<min(pcm.frames, heard.frames)
        #expect(abs(pcm.frames - heard.frames) <= (words[0] == "a.voc" ? 4 : 0) && common.count > 39_990)
        #expect(try pcm.cut(common).snr(against: heard.cut(common)).min()! > 90)
    }

    @Test(arguments: ["a.sph", "a.sox", "a.avi", "a.flv"]) func cutFilesAreTruncated(name: String) throws {
        let path = folder.path(name)
        try WAVFile.write(Signal.sweep(rate: 16_000, frames: 40_000, channels: 1).pcm(.s16), to: folder.path("in.wav"))
        if ["a.avi", "a.flv"].contains(name) {
            try FFmpeg.encode(folder.path("in.wav"), to: path, ["-c:a", "pcm_s16le", "-ar", "44100"])
        } else {
            try Run.program("sox", [folder.path("in.wav"), path]).checked()
        }
        try Bytes.truncate(path, toFraction: 0.6)
        #expect(Converted.code { _ = try ReadBack.file(path) } == .truncated)
    }
}
