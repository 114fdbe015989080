import Conversion
import Testing

@testable import Media

/// The rules of containers are found by the names that libav uses.
@Suite struct ContainerRulesTests {
    @Test func rulesExistOnlyForDemuxersThatMayRead() {
        for name in ContainerRegistry.sources.keys { #expect(Allowlist.demuxers.contains(name), "\(name)") }
    }

    @Test func containerWithoutRulesIsOrdinary() {
        for name in ["amr", "s16le", "mov", "MP3", ""] {
            #expect(ContainerRegistry.rules(demuxer: name) is OrdinaryContainer, "\(name)")
        }
        let rules = OrdinaryContainer()
        #expect(rules.packets == PacketTraits(jump: .byBytes))
        #expect(rules.frameSyntax == nil)
        #expect(rules.opening == OpeningTraits())
        #expect(rules.packets.tables.isEmpty)
    }

    @Test func whatOneContainerHasNoOtherHas() {
        for (name, rules) in ContainerRegistry.sources {
            #expect((rules.movie != nil) == (rules is MP4), "\(name)")
            #expect((rules.paged != nil) == (rules is Ogg), "\(name)")
            #expect((rules.numbered != nil) == (rules is FLAC), "\(name)")
            #expect((rules.blocks != nil) == (rules is WavPack), "\(name)")
        }
    }

    @Test func rulesOfAnOutputWriteWhatTheRulesOfASourceRead() {
        let demuxers: [Container: String] = [
            .wav: "wav", .w64: "w64", .aiff: "aiff", .aifc: "aiff", .caf: "caf", .au: "au", .flac: "flac",
            .m4a: "mov,mp4,m4a,3gp,3g2,mj2", .mp4: "mov,mp4,m4a,3gp,3g2,mj2", .adts: "aac", .mp3: "mp3", .ogg: "ogg",
            .webm: "matroska,webm", .mka: "matroska,webm", .wavpack: "wv",
        ]
        for container in Container.allCases where container != .raw {
            let source: Any = ContainerRegistry.rules(demuxer: demuxers[container] ?? "")
            let output: Any = ContainerRegistry.rules(writing: container)
            #expect(type(of: source) == type(of: output), "\(container)")
        }
    }

    @Test func webMDiffersFromMatroskaOnlyWhereItsCodecsDo() {
        let (webM, matroska) = (Matroska(isWebM: true), Matroska())
        for codec in [Codec.opus, .vorbis] { #expect(webM.copying(codec) == matroska.copying(codec)) }
        #expect(matroska.copying(.aac) == CopyTraits(marks: .eitherEnd, trims: .oneEnd))
        #expect(matroska.copying(.flac) == CopyTraits())
    }
}
