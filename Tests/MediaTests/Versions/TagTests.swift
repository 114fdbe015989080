import Conversion
import Media
import TestSupport
import Testing

/// Fifteen tags and a cover from a FLAC into every container: each arrives, or a remark reports its loss.
@Suite struct TagTests {
    @Test(arguments: FormatRow.all) func everyTagArrivesOrIsToldToBeLost(row: FormatRow) throws {
        let folder = try TemporaryFolder.create()
        let source = try Covered.flac()
        let path = folder.path("out." + row.rule.container.fileExtensions[0])
        let format = AudioFormat(container: row.rule.container, codec: row.rule.codec)
        let summary = try Converted.file(source, to: path, as: format, verifies: true).summary
        let lost = Set(summary.lostTags.map { $0.lowercased() })
        let probe: Probe? =
            row.rule.container == .raw
            ? nil : try FFmpeg.probe(path, row.rule.container == .adts ? ["-f", "aac"] : [])
        var found: [String: String] = [:]
        for tags in [probe?.tags ?? [:], probe?.audio.first?.tags ?? [:]] {
            for (name, text) in tags { found[name.lowercased()] = text }
        }
        let raw = RawShape(
            try AudioFormat(container: .raw).resolved(
                for: .init(
                    sampleRateHz: 44_100,
                    channelCount: 2,
                    bitDepth: 16,
                    codecName: "",
                    isLossless: true
                )
            )
        )
        let ours = try Decoded.file(path, raw: row.rule.container == .raw ? raw : nil).description
        var failures: [String] = []
        for (name, given) in Covered.tags {
            let (key, text) = row.written(name, given)
            let theirs = found[key]
            let mine = ours.tags.first { $0.key.lowercased() == key }?.value
            if lost.contains(name.lowercased()) {
                if mine != nil { failures.append("\(name) is there, and told to be lost") }
            } else {
                if theirs != text, !row.hidesFromFFprobe(name) {
                    failures.append("\(name): ffprobe finds \(theirs ?? "nothing")")
                }
                // Of a number, the total is a tag of its own.
                let own = ["track", "disc"].contains(name) ? String(text.prefix { $0 != "/" }) : text
                if mine != own { failures.append("\(name): our reader finds \(mine ?? "nothing")") }
            }
        }
        #expect(failures.isEmpty, "\(failures.joined(separator: "\n"))")
        #expect(lost.count == (lost.contains("cover") ? 1 : 0) + Self.lostCount(row.rule.container), "\(lost.sorted())")
    }

    /// How many of the fifteen tags and of the two totals behind numbers a container cannot store.
    private static func lostCount(_ container: Container) -> Int {
        switch container {
        case .raw, .w64, .au: 17
        default: 0
        }
    }

    /// Every container that can hold a picture stores it byte for byte, as a picture and nothing else.
    @Test(arguments: Container.allCases, Covered.Cover.allCases)
    func coverArrivesByteForByte(container: Container, cover: Covered.Cover) throws {
        let folder = try TemporaryFolder.create()
        let path = folder.path("out." + container.fileExtensions[0])
        let format = AudioFormat(container: container)
        let summary = try Converted.file(Covered.flac(cover), to: path, as: format, verifies: true).summary
        guard Self.pictured.contains(container) else {
            #expect(summary.lostTags.contains("cover"))
            return
        }
        #expect(!summary.lostTags.contains("cover"))
        let file = try OpenFile.reading(path)
        let found = try Reader(descriptor: file.descriptor, options: .init(nameHint: path)).description.cover
        #expect(try found?.bytes == Covered.picture(cover))
        let probe = try FFmpeg.probe(path)
        let others = probe.streams.filter { $0.kind != "audio" }
        #expect(others.count == 1 && others[0].isAttachedPicture)
        #expect(others.first?.codec == (cover == .png ? "png" : "mjpeg"))
        #expect(others.first?.width == 60 && others.first?.height == 40)
    }

    private static let pictured: Set<Container> = [.mp3, .flac, .m4a, .mp4, .mka, .ogg, .aiff, .aifc, .wavpack, .wav]

    /// With what they show, where the container has a place for that.
    @Test(arguments: [Container.flac, .ogg, .mp3, .aiff, .wav, .wavpack, .m4a, .mka])
    func allPicturesArrive(container: Container) throws {
        let folder = try TemporaryFolder.create()
        let (source, path) = (folder.path("a.flac"), folder.path("out." + container.fileExtensions[0]))
        try Bytes.write(Covered.picture(.png), to: folder.path("a.png"))
        try Bytes.write(Covered.picture(.jpg), to: folder.path("b.jpg"))
        let pictures = ["a.png", "b.jpg", "b.jpg"].map { folder.path($0) }
        let specified = zip(["3||Vorn||", "4||Rücken||", "4||||"], pictures).map { "--picture=" + $0 + $1 }
        let sound = folder.path("sound.wav")
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: 4_410).pcm(.s16), to: sound)
        try Run.program("flac", ["-s"] + specified + [sound, "-o", source]).checked()
        try Converted.file(source, to: path, as: AudioFormat(container: container), verifies: true, refusesLoss: false)
        let file = try OpenFile.reading(path)
        let found = try Reader(descriptor: file.descriptor, options: .init(nameHint: path)).description.pictures
        let (png, jpg) = (try Covered.picture(.png), try Covered.picture(.jpg))
        #expect(found.map(\.bytes) == [png, jpg, jpg])
        let probe = try FFmpeg.probe(path)
        #expect(probe.streams.filter { $0.isAttachedPicture }.map(\.codec) == ["png", "mjpeg", "mjpeg"])
        // MP4 does not say what a picture shows, APE has no texts, and libav reads none of Matroska.
        let kinds = found.map { Int($0.kind) }
        switch container {
        case .m4a: #expect(kinds == [3, 3, 3])
        case .mka, .wavpack: #expect(kinds == [3, 4, 4])
        default: #expect(kinds == [3, 4, 4] && found.map(\.text) == ["Vorn", "Rücken", ""], "\(found.map(\.text))")
        }
    }

    @Test(arguments: [Container.flac, .ogg, .mka]) func copiedPacketsKeepTheirTagsAndCover(container: Container) throws
    {
        let folder = try TemporaryFolder.create()
        let path = folder.path("copy")
        try Converted.file(Covered.flac(), to: path, as: AudioFormat(container: container, codec: .copy))
        let copy = try Decoded.file(path)
        #expect(try copy.bytes == Decoded.file(Covered.flac()).bytes)
        #expect(try copy.description.cover?.bytes == Covered.picture())
        let found = Set(copy.description.tags.map(\.value))
        // Numbers and totals may stand apart.
        let texts = Covered.tags.map(\.text).filter { !$0.contains("/") }
        #expect(found.isSuperset(of: texts + ["3", "12"]))
    }

    // MARK: How, in each container

    @Test func mp3HasID3OfTheVersionThatCarsRead() throws {
        let bytes = try converted(.mp3)
        #expect(bytes.starts(with: Array("ID3".utf8) + [3, 0]))
        #expect(Bytes.find("APIC", in: bytes) != nil && Bytes.find("TXXX", in: bytes) != nil)
    }

    @Test(arguments: [Codec.vorbis, .opus, .flac]) func oggHasThePictureAmongItsComments(codec: Codec) throws {
        let bytes = try converted(.ogg, codec)
        #expect(Bytes.find("METADATA_BLOCK_PICTURE=", in: bytes) != nil)
        // One logical stream: a cover stored as Theora would add another.
        var (begins, place) = (0, 0)
        while let page = Bytes.find("OggS", in: bytes, from: place) {
            if bytes[page + 5] & 2 != 0 { begins += 1 }
            place = page + 4
        }
        #expect(begins == 1)
    }

    @Test func m4aHasItsCoverAndItsOwnNames() throws {
        let bytes = try converted(.m4a)
        for name in ["covr", "----", "com.apple.iTunes", "REPLAYGAIN_TRACK_GAIN", "iTunSMPB"] {
            #expect(Bytes.find(name, in: bytes) != nil, "\(name)")
        }
    }

    @Test func aiffHasID3AndWAVHasINFO() throws {
        #expect(Bytes.find("ID3 ", in: try converted(.aiff)) != nil)
        let wav = try converted(.wav)
        let list = try #require(Bytes.find("LIST", in: wav))
        #expect(wav[list + 8..<list + 12].elementsEqual(Array("INFO".utf8)))
    }

    @Test func matroskaHasTheCoverAsAnAttachment() throws {
        let bytes = try converted(.mka)
        #expect(Bytes.find("cover.jpg", in: bytes) != nil && Bytes.find("image/jpeg", in: bytes) != nil)
    }

    /// The fields of iTunSMPB: priming, padding, length.
    @Test(arguments: [1, 1023, 1024, 1025, 44_100]) func gaplessTextSaysTheTrueNumbers(frames: Int) throws {
        let folder = try TemporaryFolder.create()
        let (wav, m4a) = (folder.path("s.wav"), folder.path("o.m4a"))
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: frames).pcm(.s16), to: wav)
        try Converted.file(wav, to: m4a, as: AudioFormat(container: .m4a))
        let text = try #require(try FFmpeg.probe(m4a).tags["iTunSMPB"])
        let words: [Substring] = text.split(separator: " ")
        let numbers: [Int?] = words.map { word in Int(word, radix: 16) }
        let packets = (1024 + frames + 1023) / 1024
        #expect(numbers.count == 12)
        let padding: Int = packets * 1024 - 1024 - frames
        let wanted: [Int?] = [0, 1024, padding, frames]
        #expect(Array(numbers.prefix(4)) == wanted)
        let widths: [Int] = [8, 8, 8, 16, 8, 8, 8, 8, 8, 8, 8, 8]
        #expect(words.map(\.count) == widths)
    }

    // MARK: Choosing

    @Test func requestOverridesByName() throws {
        let folder = try TemporaryFolder.create()
        let source = try Covered.flac()
        let path = folder.path("out.flac")
        let wishes: [String: Recipe.TagValues] = ["TITLE": "Another", "artist": "", "new": "one"]
        try Converted.file(source, to: path, as: AudioFormat(container: .flac), tags: wishes)
        let tags = try Decoded.file(path).description.tags
        func values(_ name: String) -> [String] { tags.filter { $0.key.lowercased() == name }.map(\.value) }
        #expect(values("title") == ["Another"])
        #expect(values("artist").isEmpty)
        #expect(values("new") == ["one"])
        #expect(values("album") == ["Album"])
    }

    /// Tags in which a container describes itself would be false in another.
    @Test func technicalTagsStayBehind() throws {
        let folder = try TemporaryFolder.create()
        let source = try Covered.flac()
        let (m4a, path) = (folder.path("first.m4a"), folder.path("second.flac"))
        try Converted.file(source, to: m4a, as: AudioFormat(container: .m4a))
        try Converted.file(m4a, to: path, as: AudioFormat(container: .flac))
        let names = Set(try Decoded.file(path).description.tags.map { $0.key.lowercased() })
        let technical = ["major_brand", "minor_version", "compatible_brands", "itunsmpb", "encoder", "handler_name"]
        #expect(names.isDisjoint(with: technical))
        #expect(names.isSuperset(of: Covered.tags.map { $0.name.lowercased() }))
        let found = try Decoded.file(path).description.cover?.bytes
        #expect(try found == Covered.picture())
    }

    private func converted(_ container: Container, _ codec: Codec? = nil) throws -> [UInt8] {
        let folder = try TemporaryFolder.create()
        let source = try Covered.flac()
        try Converted.file(source, to: folder.path("out"), as: AudioFormat(container: container, codec: codec))
        return try Bytes.read(folder.path("out"))
    }
}

extension FormatRow {
    /// Whether ffprobe does not read a tag that is there: it knows no identifiers of ID3, and of WAV only the INFO list.
    fileprivate func hidesFromFFprobe(_ name: String) -> Bool {
        switch rule.container {
        case .mp3, .aiff, .aifc, .adts: name == "MUSICBRAINZ_TRACKID"
        case .wav: !Container.infoHolds(tag: name)
        default: false
        }
    }

    /// The name of a tag in lower case and its text, as ffprobe finds them. Matroska's names have no spaces, and where totals
    /// have names of their own, numbers do not state them.
    fileprivate func written(_ name: String, _ text: String) -> (name: String, text: String) {
        let name = name.lowercased()
        switch rule.container {
        case .mka, .webm:
            let spaceless = String(name.map { $0 == " " ? "_" : $0 })
            return (spaceless, name == "track" ? "3" : text)
        case .flac, .ogg: return (name, name == "track" ? "3" : name == "disc" ? "1" : text)
        case .m4a, .mp4: return (name == "musicbrainz_trackid" ? "musicbrainz track id" : name, text)
        case .wavpack: return (["album_artist": "album artist", "date": "year"][name] ?? name, text)
        default: return (name, text)
        }
    }
}
