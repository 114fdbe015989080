import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// Every error code can occur, and occurs at the stage that the page on errors states.
@Suite struct ErrorCodeTests {
    @Test func everyCodeIsProvokedOnce() {
        // Recipes, the worker's watchdog and specs are not this module's.
        let codes = Set(
            [FailureSection.sources, .damage, .requests, .conversion, .limits].flatMap(\.entries).map(\.code)
        )
        .subtracting([.recipeRefused, .deadlineExceeded, .tooSlow, .specBroken])
        #expect(Provocation.all.map(\.code.rawValue).sorted() == codes.map(\.rawValue).sorted())
    }

    @Test(arguments: Provocation.all.map(\.code)) func provocationGivesItsCode(code: FailureCode) throws {
        let provocation = try #require(Provocation.all.first { $0.code == code })
        let error = try provocation.error()
        #expect(error.code == code, "\(error)")
        #expect(error.stage == provocation.stage, "\(error)")
        #expect(code.entry.stages.contains(error.stage), "not a stage of the catalogue: \(error)")
        #expect(!error.detail.isEmpty && !error.detail.hasSuffix("."))
        #expect(!error.description.contains(" @ 0x"), "the message contains an address: \(error)")
        // The same source gives the same error twice, including libav's text. Two codes are exempt: a full disk is
        // tested in another process each time, and how far a second of processor time goes varies.
        if code != .diskFull, code != .cpuExceeded { #expect(try provocation.error() == error) }
    }

    /// This succeeds where a file may grow without limit. `ConfinedRun` runs it where it may not.
    @Test func outputHasRoom() throws {
        let folder = try TemporaryFolder.create()
        // The source stays in memory, so that only the output is written to a disk.
        let sound = try WAVFile.bytes(Signal.noise(seed: 1, rate: 44_100, frames: 200_000).pcm(.s16))
        let pipe = try FilledPipe.holding(sound)
        let output = try OpenFile.creating(folder.path("out.wav"))
        let converter = Converter(.init(format: AudioFormat(container: .wav)))
        guard ConfinedRun.isConfined else {
            #expect(try converter.run(from: pipe.reading, to: output.descriptor).summary.writtenFrames == 200_000)
            return
        }
        let error = #expect(throws: MediaError.self) { try converter.run(from: pipe.reading, to: output.descriptor) }
        try ConfinedRun.tell(#require(error))
    }

    @Test(arguments: ["id3v2", "id3v1", "ape", "both"]) func tagsAloneAreNoSound(name: String) throws {
        let tags: [UInt8] =
            switch name {
            case "id3v2": DamageMP3Tests.Tag.id3v2.bytes
            case "id3v1": DamageMP3Tests.Tag.id3v1.bytes
            case "ape": DamageMP3Tests.Tag.ape.bytes
            default: DamageMP3Tests.Tag.id3v2.bytes + DamageMP3Tests.Tag.id3v1.bytes
            }
        #expect(try Readout(tags, name: "a.mp3").error?.code == .tagsOnly)
    }

    @Test func protectionIsToldAlsoOfFilesThatDoNotOpen() throws {
        for mark in ["drms", "aavd", "enca"] {
            var bytes = try SampleFile.of(.m4aAAC).bytes
            let entry = try #require(Bytes.find("mp4a", in: bytes, from: Bytes.find("stsd", in: bytes) ?? 0))
            bytes.replaceSubrange(entry..<(entry + 4), with: Array(mark.utf8))
            #expect(try Readout(bytes, name: "a.m4a").error?.code == .protectedContent)
            // An invalid sample size table keeps libav from opening the file.
            let table = try #require(Bytes.find("stsz", in: bytes))
            for index in 0..<4 { bytes[table + 12 + index] = 0xFF }
            let error = try Readout(bytes, name: "a.m4a").error
            #expect(error?.code == .protectedContent, "\(mark): \(error?.description ?? "-")")
        }
    }

    @Test func randomBytesAndTextAreNoContainer() throws {
        var generator = SeededGenerator(seed: 8)
        let random = (0..<5_000).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
        for (bytes, name) in [(random, "a.mp3"), (random, "a"), (Array("hello\n".utf8), "a.mp3")] {
            #expect(try Readout(bytes, name: name).error?.code == .unknownContainer)
        }
    }

    @Test(arguments: ["a.mp3", "a.wav", "a.m4a"]) func playlistsAreNamedAndNeverFollowed(name: String) throws {
        let canary = "canary.wav"
        let disguises: [(libav: String, text: String)] = [
            ("hls", "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:9,\n\(canary)\n#EXT-X-ENDLIST\n"),
            ("concat", "ffconcat version 1.0\nfile \(canary)\n"),
            (
                "dash",
                "<?xml version=\"1.0\"?>\n<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" "
                    + "profiles=\"urn:mpeg:dash:profile:isoff-live:2011\" type=\"static\"></MPD>"
            ),
            ("sdp", "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio 5004 RTP/AVP 0\n"),
            ("ffmetadata", ";FFMETADATA1\ntitle=x\n"),
        ]
        for disguise in disguises {
            let folder = try TemporaryFolder.create()
            try WAVFile.write(Signal.tone(440, rate: 8_000, frames: 80_000).pcm(.s16), to: folder.path(canary))
            try Bytes.write(Array(disguise.text.utf8), to: folder.path(name))
            let file = try OpenFile.reading(folder.path(name))
            let error = #expect(throws: MediaError.self) {
                try Reader(descriptor: file.descriptor, options: .init(nameHint: folder.path(name)))
            }
            #expect(error?.code == .containerNotAllowed)
            #expect(error?.detail.contains("this is \(disguise.libav),") == true, "\(error?.detail ?? "-")")
        }
    }

    @Test func picturesAreNoSound() throws {
        let folder = try TemporaryFolder.create()
        let path = folder.path("img001.png")
        try FFmpeg.run(["-f", "lavfi", "-i", "testsrc=d=0.1:s=32x32", "-frames:v", "1", path])
        for name in ["a.mp3", "img001.png"] {
            #expect(try Readout(Bytes.read(path), name: name).error?.code == .containerNotAllowed)
        }
    }

    @Test func sourcesThatCannotBeReadSayWhy() throws {
        let folder = try TemporaryFolder.create()
        let directory = open(folder.path, O_RDONLY | O_CLOEXEC)
        defer { close(directory) }
        for descriptor in [directory, -1] {
            let error = #expect(throws: MediaError.self) { try Reader(descriptor: descriptor) }
            #expect(error?.code == .sourceIO && error?.stage == .open)
        }
    }

    @Test func errorsOfLibAVCarryItsNameAndItsWords() throws {
        let sample = try SampleFile.of(.flac)
        let holed = Damage.hole(sample.bytes, at: sample.bytes.count / 2, count: 500)
        let error = try #require(try Readout(holed, name: "a.flac").error)
        #expect(error.libavName == "INVALIDDATA")
        #expect(error.libavText?.contains("[flac]") == true)
        #expect(error.stream == 0)
        #expect(error.position == error.frame.map { MediaTime(frames: $0, rate: 44_100) })
        #expect(error.hint?.contains("conceal") == true)
    }

    @Test func addressesAreTakenOutOfTheLog() {
        #expect("[mp3 @ 0x55d0c0ffee00] Header missing".withoutAddresses() == "[mp3] Header missing")
        #expect("[a @ 0x1] [b @ 0x2f] c".withoutAddresses() == "[a] [b] c")
        #expect("half past 0x7".withoutAddresses() == "half past 0x7")
    }
}
