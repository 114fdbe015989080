import Conversion
import Testing

/// The downmix and upmix matrix, which is the same for every codec and sample format.
@Suite struct ChannelMixTests {
    private static let half = 0.5.squareRoot()

    private func rows(_ from: ChannelLayout, _ to: ChannelLayout) throws -> [[Double]] {
        try #require(ChannelMix(from: from, to: to)).rows
    }

    private func expect(_ rows: [[Double]], _ wanted: [[Double]]) {
        #expect(rows.count == wanted.count)
        for (row, expected) in zip(rows, wanted) {
            #expect(row.count == expected.count)
            #expect(zip(row, expected).allSatisfy { abs($0 - $1) < 1e-12 }, "\(row) \(expected)")
        }
    }

    @Test func stereoMeetsInTheMiddle() throws {
        expect(try rows(.stereo, .mono), [[0.5, 0.5]])
        #expect(ChannelMix(from: .stereo, to: .mono)?.keepsEveryChannel == false)
    }

    @Test func monoKeepsItsLevelOnBothSides() throws {
        expect(try rows(.mono, .stereo), [[1], [1]])
        #expect(ChannelMix(from: .mono, to: .stereo)?.keepsEveryChannel == true)
    }

    @Test func surroundBecomesStereoByTheStatedMatrix() throws {
        let (front, fold) = (1 / (1 + 2 * Self.half), Self.half / (1 + 2 * Self.half))
        let wanted = [[front, 0, fold, 0, fold, 0], [0, front, fold, 0, 0, fold]]
        expect(try rows(.fivePointOne, .stereo), wanted)
        expect(try rows(.fivePointOneSide, .stereo), wanted)
        let mix = try #require(ChannelMix(from: .fivePointOne, to: .stereo))
        #expect(abs(mix.frontGain - 0.41421) < 1e-5)
        #expect(mix.lostSpeakers == [3])
    }

    @Test func surroundBecomesMonoByTheStatedMatrix() throws {
        let sum = 2 + 2 * Self.half
        expect(
            try rows(.fivePointOne, .mono),
            [[Self.half / sum, Self.half / sum, 1 / sum, 0, 0.5 / sum, 0.5 / sum]]
        )
    }

    @Test func quadBecomesStereoAndMono() throws {
        let sum = 1 + Self.half
        expect(try rows(.quad, .stereo), [[1 / sum, 0, Self.half / sum, 0], [0, 1 / sum, 0, Self.half / sum]])
        let all = 2 * Self.half + 1
        expect(try rows(.quad, .mono), [[Self.half / all, Self.half / all, 0.5 / all, 0.5 / all]])
    }

    @Test func sidesJoinTheBacksThatAreThere() throws {
        let sum = 1 + Self.half
        let mixed = try rows(.sevenPointOne, .fivePointOne)
        #expect(abs(mixed[4][4] - 1 / sum) < 1e-12 && abs(mixed[4][6] - Self.half / sum) < 1e-12)
        #expect(abs(mixed[0][0] - 1 / sum) < 1e-12 && mixed[3][3] == mixed[0][0])
    }

    @Test(arguments: [
        (ChannelLayout.fivePointOneSide, ChannelLayout.fivePointOne), (.fivePointZeroSide, .fivePointZero),
        (.fivePointOne, .fivePointOneSide),
    ])
    func sidesAreBacksByAnotherName(from: ChannelLayout, to: ChannelLayout) throws {
        let mix = try #require(ChannelMix(from: from, to: to))
        #expect(mix.isIdentity && mix.keepsEveryChannel)
    }

    @Test func otherOrderOfTheSameSeatsIsNoMix() throws {
        let mix = try #require(ChannelMix(from: .sixPointOne, to: .sixPointOneBack))
        #expect(!mix.isIdentity && mix.keepsEveryChannel)
        #expect(mix.rows.map { $0.firstIndex(of: 1) } == [0, 1, 2, 3, 5, 6, 4])
    }

    @Test func speakersThatTheSourceLacksAreSilent() throws {
        let mix = try #require(ChannelMix(from: .quad, to: .fivePointOne))
        #expect(mix.keepsEveryChannel && mix.frontGain == 1)
        #expect(mix.rows[2].allSatisfy { $0 == 0 } && mix.rows[3].allSatisfy { $0 == 0 })
    }

    /// All pairs of layouts that a format can request.
    @Test func noNamedPairExceedsFullScaleOrLosesMoreThanLowFrequencies() throws {
        for (_, from) in ChannelLayout.named {
            for (_, to) in ChannelLayout.named {
                let mix = try #require(ChannelMix(from: from, to: to), "\(from) \(to)")
                #expect(mix.rows.allSatisfy { $0.reduce(0) { $0 + abs($1) } <= 1 + 1e-12 }, "\(from) \(to)")
                #expect(mix.lostSpeakers.allSatisfy { $0 == 3 }, "\(from) \(to) \(mix.lostSpeakers)")
                if to.mask & from.mask == from.mask { #expect(mix.keepsEveryChannel, "\(from) \(to)") }
                // Left and right keep their sides and have equal gain.
                if to.mask & 3 == 3, from.mask & 3 == 3 {
                    #expect(mix.rows[0][0] == mix.rows[1][1] && mix.rows[0][1] == 0, "\(from) \(to)")
                }
            }
        }
    }

    @Test func unpositionedChannelsStayInOrderAndAreNeverMixed() throws {
        let mix = try #require(ChannelMix(from: .discrete(4), to: .quad))
        #expect(mix.isIdentity && mix.keepsEveryChannel)
        #expect(ChannelMix(from: .discrete(4), to: .discrete(4))?.isIdentity == true)
        #expect(ChannelMix(from: .fivePointOne, to: .discrete(6))?.isIdentity == true)
        #expect(ChannelMix(from: .discrete(4), to: .stereo) == nil)
        #expect(ChannelMix(from: .discrete(3), to: .mono) == nil)
        #expect(ChannelMix(from: .fivePointOne, to: .discrete(3)) == nil)
    }

    @Test func oneAndTwoChannelsAreMonoAndStereo() throws {
        expect(try rows(.discrete(2), .mono), [[0.5, 0.5]])
        expect(try rows(.discrete(1), .stereo), [[1], [1]])
        // A single channel whose mask says front left counts as mono.
        expect(try rows(#require(ChannelLayout(mask: 1)), .mono), [[1]])
    }

    @Test func speakersAboveTheHeadAreFoldedDown() throws {
        // 5.1.2: 5.1 and two height speakers above the front.
        let high = try #require(ChannelLayout(mask: 0x3F | 1 << 12 | 1 << 14))
        let mix = try #require(ChannelMix(from: high, to: .fivePointOne))
        #expect(mix.lostSpeakers.isEmpty)
        #expect(abs(mix.rows[0][6] / mix.rows[0][0] - Self.half) < 1e-12)
        #expect(ChannelMix(from: high, to: .mono)?.lostSpeakers == [3])
    }

    @Test func layoutWithoutAPlaceForTheFrontIsRefused() throws {
        #expect(try ChannelMix(from: .stereo, to: #require(ChannelLayout(mask: 0x30))) == nil)
        #expect(try ChannelMix(from: .fivePointOne, to: #require(ChannelLayout(mask: 0x9))) == nil)
    }
}
