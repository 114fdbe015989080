import Conversion
import TestSupport
import Testing

@testable import Media

/// A layout that Apple's containers name, with the speakers of its channels as bits of WAVE's mask, in its order.
struct AppleLayoutCase: Sendable, CustomTestStringConvertible {
    let name: String
    let number: UInt32
    let speakers: [Int]

    init(_ name: String, _ number: UInt32, _ speakers: [Int]) {
        (self.name, self.number, self.speakers) = (name, number, speakers)
    }

    var testDescription: String { name }
    var tag: UInt32 { number << 16 | UInt32(speakers.count) }
    var mask: UInt64 { speakers.reduce(0) { $0 | 1 << UInt64($1) } }

    /// As CoreAudioBaseTypes describes them.
    static let all: [AppleLayoutCase] = [
        AppleLayoutCase("MPEG_3_0_A", 113, [0, 1, 2]), AppleLayoutCase("MPEG_3_0_B", 114, [2, 0, 1]),
        AppleLayoutCase("MPEG_4_0_B", 116, [2, 0, 1, 8]), AppleLayoutCase("ITU_2_2", 132, [0, 1, 9, 10]),
        AppleLayoutCase("Quadraphonic", 108, [0, 1, 4, 5]), AppleLayoutCase("Pentagonal", 109, [0, 1, 4, 5, 2]),
        AppleLayoutCase("MPEG_5_0_A", 117, [0, 1, 2, 9, 10]), AppleLayoutCase("MPEG_5_0_B", 118, [0, 1, 9, 10, 2]),
        AppleLayoutCase("MPEG_5_0_C", 119, [0, 2, 1, 9, 10]), AppleLayoutCase("MPEG_5_0_D", 120, [2, 0, 1, 9, 10]),
        AppleLayoutCase("MPEG_5_1_A", 121, [0, 1, 2, 3, 9, 10]),
        AppleLayoutCase("MPEG_5_1_B", 122, [0, 1, 9, 10, 2, 3]),
        AppleLayoutCase("MPEG_5_1_C", 123, [0, 2, 1, 9, 10, 3]),
        AppleLayoutCase("MPEG_5_1_D", 124, [2, 0, 1, 9, 10, 3]),
        AppleLayoutCase("AAC_6_0", 141, [2, 0, 1, 9, 10, 8]), AppleLayoutCase("Hexagonal", 110, [0, 1, 4, 5, 2, 8]),
        AppleLayoutCase("MPEG_6_1_A", 125, [0, 1, 2, 3, 9, 10, 8]),
        AppleLayoutCase("AAC_6_1", 142, [2, 0, 1, 9, 10, 8, 3]),
        AppleLayoutCase("MPEG_7_1_A", 126, [0, 1, 2, 3, 9, 10, 6, 7]),
        AppleLayoutCase("MPEG_7_1_B", 127, [2, 6, 7, 0, 1, 9, 10, 3]),
        AppleLayoutCase("MPEG_7_1_C", 128, [0, 1, 2, 3, 9, 10, 4, 5]),
        AppleLayoutCase("SMPTE_DTV", 130, [0, 1, 2, 3, 9, 10, 29, 30]),
        AppleLayoutCase("WAVE_5_1_B", 187, [0, 1, 2, 3, 4, 5]),
        AppleLayoutCase("WAVE_7_1", 189, [0, 1, 2, 3, 4, 5, 9, 10]),
        AppleLayoutCase("Atmos_5_1_2", 194, [0, 1, 2, 3, 9, 10, 36, 37]),
        AppleLayoutCase("Ogg_5_1", 213, [0, 2, 1, 4, 5, 3]),
        AppleLayoutCase("MPEG_7_1_D", 219, [0, 1, 4, 5, 9, 10, 2, 3]),
    ]
}

/// Channels keep their names where a header lists speakers in another order than WAVE. libav takes every order for that
/// of its own mask.
@Suite struct AppleLayoutTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private static let frames = 200

    /// Each channel is one value, which is that of its speaker.
    private func sound(of speakers: [Int]) -> PCM {
        let channels = speakers.map { [Double](repeating: Self.level(of: $0), count: Self.frames) }
        return Signal(rate: 48_000, channels: channels).pcm(.s16)
    }

    private static func level(of speaker: Int) -> Double { Double(speaker + 1) * 0x1p-6 }

    /// The speakers by the values of the channels.
    private func speakers(in pcm: PCM) -> [Int] {
        (0..<pcm.channels).map { channel in
            let samples = pcm.samples(channel: channel)
            guard let first = samples.first, samples.allSatisfy({ $0 == first }) else { return -1 }
            return Int((first * 0x1p6).rounded()) - 1
        }
    }

    // MARK: Reading

    @Test(arguments: AppleLayoutCase.all, LayoutFile.allCases)
    func channelsHaveTheNamesOfTheTag(test: AppleLayoutCase, kind: LayoutFile) throws {
        let path = folder.path("in." + kind.rawValue)
        let pcm = sound(of: test.speakers)
        try kind.write(pcm, LayoutFile.layout(tag: test.tag), to: path)
        let read = try Decoded.file(path)
        #expect(read.track.channelMask == test.mask && read.frames == Self.frames)
        #expect(read.shape?.channelMask == test.mask)
        #expect(speakers(in: read.pcm) == test.speakers.sorted())
    }

    @Test(
        arguments: [
            ([1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5]), ([3, 1, 2, 5, 6, 4], [2, 0, 1, 4, 5, 3]),
            ([1, 3, 2, 5, 6, 33, 34, 4], [0, 2, 1, 9, 10, 4, 5, 3]), ([4, 1, 2], [3, 0, 1]), ([39, 38], [1, 0]),
            ([10, 11, 5, 6, 1, 2, 3, 4], [9, 10, 4, 5, 0, 1, 2, 3]),
        ] as [([UInt32], [Int])]
    )
    func channelsHaveTheNamesOfTheLabels(labels: [UInt32], order: [Int]) throws {
        for kind in [LayoutFile.caf, .aiff] {
            let path = folder.path("in." + kind.rawValue)
            try kind.write(sound(of: order), LayoutFile.layout(tag: 0, labels: labels), to: path)
            let read = try Decoded.file(path)
            #expect(read.track.channelMask == order.reduce(0) { $0 | 1 << UInt64($1) })
            #expect(speakers(in: read.pcm) == order.sorted())
        }
    }

    @Test(arguments: [
        LayoutFile.layout(tag: 0xFFFF_0000), LayoutFile.layout(tag: 107 << 16 | 4),
        LayoutFile.layout(tag: 147 << 16 | 4),
        LayoutFile.layout(tag: 0, labels: [1, 2, 3, 0xFFFF_FFFF]), LayoutFile.layout(tag: 0, labels: [1, 2, 1, 2]),
        LayoutFile.layout(tag: 190 << 16 | 4),
    ])
    func channelsOfOtherLayoutsKeepTheirOrderAndHaveNoNames(layout: [UInt8]) throws {
        let path = folder.path("in.caf")
        let order = [2, 0, 1, 3]
        try LayoutFile.caf.write(sound(of: order), layout, to: path)
        let read = try Decoded.file(path)
        #expect(read.track.channelMask == 0 && speakers(in: read.pcm) == order)
    }

    @Test func namesAreRightInAPipe() throws {
        let path = folder.path("in.caf")
        let test = try #require(AppleLayoutCase.all.first { $0.name == "MPEG_5_1_D" })
        try LayoutFile.caf.write(sound(of: test.speakers), LayoutFile.layout(tag: test.tag), to: path)
        let pipe = try FilledPipe.holding(Bytes.read(path))
        let read = try Decoded.descriptor(pipe.reading)
        #expect(read.track.channelMask == test.mask && speakers(in: read.pcm) == test.speakers.sorted())
    }

    @Test func everyTagHasAsManyChannelsAsItSays() {
        let tags = AppleLayoutTags.all
        #expect(tags.count > 100 && Set(tags).count == tags.count)
        for tag in tags {
            #expect(AppleLayoutTags.speakers(of: tag)?.count == Int(tag & 0xFFFF), "\(tag >> 16)")
            #expect(AppleLayoutTags.speakers(of: tag + 1) == nil)
        }
        for test in AppleLayoutCase.all {
            #expect(AppleLayoutTags.speakers(of: test.tag)?.map { $0 ?? -1 } == test.speakers, "\(test.name)")
        }
    }

    // MARK: Converting

    @Test func convertedChannelsAreInTheOrderOfTheMask() throws {
        let (source, path) = (folder.path("in.caf"), folder.path("out.wav"))
        for test in AppleLayoutCase.all where test.mask < 1 << 18 {
            try LayoutFile.caf.write(sound(of: test.speakers), LayoutFile.layout(tag: test.tag), to: source)
            try Converted.file(source, to: path, as: AudioFormat(container: .wav), verifies: true, refusesLoss: true)
            let theirs = try FFmpeg.decode(path)
            #expect(speakers(in: theirs) == test.speakers.sorted(), "\(test.name)")
            #expect(try Decoded.file(path).track.channelMask == test.mask, "\(test.name)")
        }
    }

    @Test(arguments: [Container.wav, .caf, .aiff]) func speakersThatWAVELacksAreALoss(container: Container) throws {
        let (source, path) = (folder.path("in.caf"), folder.path("out"))
        let test = try #require(AppleLayoutCase.all.first { $0.name == "SMPTE_DTV" })
        try LayoutFile.caf.write(sound(of: test.speakers), LayoutFile.layout(tag: test.tag), to: source)
        let format = AudioFormat(container: container)
        let outcome = try Converted.file(source, to: path, as: format)
        #expect(outcome.remarks.map(\.kind) == [.layoutLost])
        let strict = Converted.code {
            try Converted.file(source, to: folder.path("refused"), as: format, refusesLoss: true)
        }
        #expect(strict == .lossRefused)
        #expect(speakers(in: try Decoded.file(path).pcm) == test.speakers.sorted())
    }

    @Test func channelsInAnotherOrderAreNotCopied() throws {
        let (source, path) = (folder.path("in.caf"), folder.path("out.caf"))
        let copy = AudioFormat(container: .caf, codec: .copy)
        let test = try #require(AppleLayoutCase.all.first { $0.name == "MPEG_5_1_B" })
        try LayoutFile.caf.write(sound(of: test.speakers), LayoutFile.layout(tag: test.tag), to: source)
        #expect(Converted.code { try Converted.file(source, to: path, as: copy) } == .passthroughRefused)
    }

    // MARK: Writing

    @Test(
        arguments: [
            0x7, 0x107, 0x33, 0x603, 0x37, 0x607, 0x3F, 0x60F, 0x13F, 0x70F, 0x63F, 0xFF, 0x6CF, 0x707, 0x137, 0x737,
        ] as [UInt32],
        [Container.caf, .aiff, .aifc]
    )
    func writtenLayoutIsReadBack(mask: UInt32, container: Container) throws {
        let (wav, path) = (folder.path("in.wav"), folder.path("out"))
        let speakers = (0..<18).filter { mask >> UInt32($0) & 1 == 1 }
        let pcm = sound(of: speakers)
        try WAVFile.write(pcm, to: wav, options: .init(isExtensible: true, channelMask: mask))
        let outcome = try Converted.file(wav, to: path, as: AudioFormat(container: container), verifies: true)
        #expect(outcome.remarks.isEmpty)
        let read = try Decoded.file(path)
        let layouts = try (
            #require(ChannelLayout(mask: read.track.channelMask)), #require(ChannelLayout(mask: UInt64(mask)))
        )
        // Surround speakers may be called side or back speakers.
        #expect(ChannelMix(from: layouts.0, to: layouts.1)?.isIdentity == true, "\(layouts)")
        #expect(self.speakers(in: read.pcm) == speakers)
    }

    /// Apple's decoder gives the channels of ALAC in the order of its packets.
    @Test(
        arguments: [(0x7, 114), (0x107, 116), (0x37, 120), (0x3F, 124), (0x13F, 142), (0xFF, 127)] as [(UInt32, UInt32)]
    )
    func packetsOfALACHaveTheirOwnOrder(mask: UInt32, number: UInt32) throws {
        let (wav, path) = (folder.path("in.wav"), folder.path("out.caf"))
        let pcm = sound(of: (0..<18).filter { mask >> UInt32($0) & 1 == 1 })
        try WAVFile.write(pcm, to: wav, options: .init(isExtensible: true, channelMask: mask))
        try Converted.file(wav, to: path, as: AudioFormat(container: .caf, codec: .alac), verifies: true)
        let bytes = try Bytes.read(path)
        let chunk = try #require(Bytes.find("chan", in: bytes))
        #expect(try Bytes.big(UInt32.self, in: bytes, at: chunk + 12) == number << 16 | UInt32(pcm.channels))
        #expect(try Decoded.file(path).pcm.converted(to: .s16) == pcm && FFmpeg.decode(path) == pcm)
    }

    // MARK: Blocks

    @Test func planesAreReordered() throws {
        let shape = SampleShape(format: .s16Planar, sampleRateHz: 48_000, channelCount: 3, channelMask: 7)
        var block = try SampleBlock()
        try block.reserve(4, shape)
        for channel in 0..<3 {
            block.withMutablePlane(channel) { plane in
                for place in plane.indices { plane[place] = UInt8(channel) }
            }
        }
        block.reorder([1, 2, 0])
        let firsts = (0..<3).map { channel in block.withPlane(channel) { $0.map { $0 }.last } }
        #expect(firsts == [1, 2, 0])
    }
}
