import Conversion
import Testing

@testable import Media

/// The rules of codecs are found by the names that libav uses.
@Suite struct CodecRulesTests {
    /// The rules have no rule for a name that libav does not have.
    @Test func rulesExistOnlyForCodecsThatCanBeDecoded() {
        #expect(CodecRegistry.names.count > 20)
        for name in CodecRegistry.names { #expect(Allowlist.decodes(codec: name), "\(name)") }
    }

    @Test func codecWithoutRulesIsOrdinary() {
        for name in ["ape", "musepack8", "wmapro", "mp3float", "none", ""] {
            let rules = CodecRegistry.rules(of: name)
            #expect(rules is OrdinaryCodec && rules.packets == CodecTraits(), "\(name)")
        }
        #expect(CodecTraits().preroll(packetFrames: 1024) == nil)
    }

    @Test(arguments: [
        ("pcm_s16le", 0), ("pcm_mulaw", 0), ("alac", 0), ("flac", 0), ("mp3", 12 * 1152), ("vorbis", 16_384),
    ])
    func prerollIsThatOfTheCodec(name: String, frames: Int64) {
        let traits = CodecRegistry.rules(of: name).packets
        for packet in [0, 1024, 2048] { #expect(traits.preroll(packetFrames: packet) == frames) }
    }

    @Test func packetsThatSBRHasDoubledNeedALongerPreroll() {
        for name in ["aac", "aac_latm"] {
            let traits = CodecRegistry.rules(of: name).packets
            let (short, long): (Int64, Int64) = (8 * 1024, 48 * 2048)
            #expect(traits.preroll(packetFrames: 1024) == short)
            #expect(traits.preroll(packetFrames: 2048) == long)
        }
    }

    @Test(arguments: [
        ("opus", true, true), ("flac", true, true), ("alac", true, true), ("aac", true, false), ("mp3", false, false),
        ("aac_latm", false, false),
    ])
    func timesStateFramesWhereTheCodecLetsThem(name: String, inMP4: Bool, inCAF: Bool) {
        let tables = CodecRegistry.rules(of: name).packets.exactTables
        #expect(tables.isDisjoint(with: MP4().packets.tables) == !inMP4)
        #expect(tables.isDisjoint(with: CAF().packets.tables) == !inCAF)
    }

    @Test(
        arguments: [
            ("pcm_mulaw", Codec.ulaw, nil), ("pcm_alaw", .alaw, nil), ("pcm_s24be", .pcm, 24), ("pcm_f32le", .pcm, 32),
            ("flac", .flac, nil), ("mp3", .mp3, nil),
        ] as [(String, Codec, Int?)]
    )
    func copyHasTheCodecOfItsSource(name: String, codec: Codec, bits: Int?) throws {
        let format = try copying()
        let copy = try #require(CodecRegistry.rules(of: name).native(format, to: name))
        #expect(copy.codec == codec && copy.bitDepth == bits ?? format.bitDepth)
    }

    @Test func noOutputHoldsACodecThatIsOnlyRead() throws {
        #expect(try CodecRegistry.rules(of: "dts").native(copying(), to: "dts") == nil)
    }

    private func copying() throws -> ResolvedFormat {
        try AudioFormat(container: .mka, codec: .copy).resolved(
            for: AudioShape(
                sampleRateHz: 44_100,
                channelCount: 2,
                layout: .stereo,
                bitDepth: 16,
                sampleKind: .integer,
                codecName: "flac",
                isLossless: true,
                frames: nil
            )
        )
    }

    @Test func packetStatesItsFrames() throws {
        var packet = try Packet()
        try packet.setBytes([0x7F, 0xFE, 0x80, 0x01, 0x00, 0x3C, 0, 0])
        var (stated, unknown) = (PacketLength(.stated { $0.count == 8 ? 512 : nil }), PacketLength(.unknown))
        let (known, none) = (stated.frames(in: packet), unknown.frames(in: packet))
        #expect(known == 512 && none == nil)
        #expect(!stated.isUnreadable && !unknown.isUnreadable)
        let damaged = PacketLength(.overlapping(nil, another: { nil }))
        #expect(damaged.isUnreadable)
    }

    @Test func onlyStatedFramesCountOnPages() {
        let bytes: [UInt8] = [1, 2, 3, 4, 5, 6]
        let packets = [0..<1, 1..<3, 3..<6]
        let (stated, implied) = (PacketLength(.stated { $0.count * 100 }), PacketLength(.implied { $0.count * 100 }))
        let counted = bytes.withUnsafeBytes { stated.frames(in: $0, packets) }
        let uncounted = bytes.withUnsafeBytes { implied.frames(in: $0, packets) }
        #expect(counted == 500 && uncounted == nil)
    }
}
