import Conversion
import Testing

/// What outputs hold beside their sound.
struct TagRulesTests {
    @Test(arguments: Container.allCases)
    func coverHasAPlaceWhereTagsHaveOne(container: Container) {
        #expect(container.coverPlace == .none || container.stores(tag: "title"))
    }

    /// Behind the sound, nothing can be added to a stream.
    @Test func streamsOfWAVHaveTheirListOnly() {
        for name in ["TITLE", "track", "TRACKTOTAL", "Encoded_By"] {
            #expect(Container.wav.stores(tag: name, inStream: true), "\(name)")
        }
        for name in ["mood", "albumartist", "disc"] {
            #expect(!Container.wav.stores(tag: name, inStream: true) && Container.wav.stores(tag: name), "\(name)")
        }
    }

    @Test func lossesAreThoseOfTheContainer() throws {
        let extras = SourceExtras(
            tags: ["TITLE", "mood", "encoder", "Major_Brand", "artist"],
            hasCover: true,
            hasChapters: true
        )
        #expect(extras.tags == ["TITLE", "mood", "artist"])
        func format(_ container: Container) throws -> ResolvedFormat {
            let shape = AudioShape(
                sampleRateHz: 48_000,
                channelCount: 2,
                layout: .stereo,
                bitDepth: 16,
                sampleKind: .integer,
                codecName: "pcm_s16le",
                isLossless: true
            )
            return try AudioFormat(container: container).resolved(for: shape)
        }
        #expect(try format(.wav).losses(of: extras) == [])
        #expect(try format(.w64).losses(of: extras) == [.tags, .chapters, .cover])
        #expect(try format(.au).lostTags(of: extras) == extras.tags)
        #expect(try format(.flac).losses(of: extras) == [])
        #expect(try format(.caf).losses(of: extras) == [.cover])
        #expect(try format(.raw).losses(of: SourceExtras()) == [])
    }
}
