import Conversion
import Testing

@Suite struct GainTests {
    @Test(
        arguments: [
            ("-3dB", -3), ("0dB", 0), ("+2.5dB", 2.5), ("2.5dB", 2.5), ("-144dB", -144), ("+60dB", 60), ("-3DB", -3),
            ("-0dB", 0), ("-inf", -Double.infinity), ("-infdB", -Double.infinity), ("1e-05dB", 1e-05),
        ] as [(String, Double)]
    )
    func gainIsReadAsItIsWritten(text: String, decibels: Double) throws {
        let gain = try Gain(parsing: text)
        #expect(gain.decibels == decibels)
        #expect(try Gain(parsing: gain.description) == gain)
    }

    @Test(arguments: [
        "", "dB", "3", "-3 dB", "+61dB", "-145dB", "-1e999dB", "nandB", "infdB", "0x1pdB", "--3dB", "3dBdB", "\u{0}dB",
    ])
    func anythingElseIsRefused(text: String) {
        #expect(throws: EditTextError.self) { try Gain(parsing: text) }
    }

    @Test func gainIsWrittenInOneWay() throws {
        let gains: [Double] = [-3, 0, 2.5, -0.0, 1e-05, -.infinity]
        let written = try gains.map { try #require(Gain(decibels: $0)).description }
        #expect(written == ["-3dB", "0dB", "+2.5dB", "0dB", "+1e-05dB", "-inf"])
    }

    @Test func amplitudeIsATwentiethOfTheDecibelsAsAPowerOfTen() throws {
        #expect(Gain.unity.amplitude == 1)
        #expect(Gain.silence.amplitude == 0)
        let known: [(Double, Double)] = [(20, 10), (60, 1_000), (-20, 0.1), (-120, 1e-6), (10, 3.1622776601683795)]
        for (decibels, amplitude) in known {
            let gain = try #require(Gain(decibels: decibels))
            #expect(abs(gain.amplitude / amplitude - 1) < 1e-14)
        }
    }

    @Test(arguments: [Double.nan, .infinity, 60.1, -144.1]) func noGainIsBeyondItsEnds(decibels: Double) {
        #expect(Gain(decibels: decibels) == nil)
    }

    @Test func panTurnsOneSideDown() throws {
        let positions: [Double] = [-1, -0.5, 0, 0.25, 1]
        let amplitudes: [[Double]] = try positions.map { position in
            let pan = try #require(Pan(position))
            return [pan.leftAmplitude, pan.rightAmplitude]
        }
        let expected: [[Double]] = [[1, 0], [1, 0.5], [1, 1], [0.75, 1], [0, 1]]
        #expect(amplitudes == expected)
        #expect(Pan(1.01) == nil)
        #expect(Pan(.nan) == nil)
    }

    // MARK: Channels

    @Test(arguments: ["left", "right", "swap", "sum", "3,4", "1", "64"]) func channelsAreReadAsWritten(text: String)
        throws
    {
        #expect(try ChannelPick(parsing: text).description == text)
    }

    @Test(arguments: ["", "Left", "0", "65", "1,,2", "1, 2", "-1", "+1", "٣", "99999999999999999999"])
    func otherChannelsAreRefused(text: String) {
        #expect(throws: EditTextError.self) { try ChannelPick(parsing: text) }
    }

    @Test func channelsAreTakenInTheirOrder() throws {
        let swapped = try #require(ChannelPick.swap.applied(to: .stereo))
        #expect((swapped.layout, swapped.rows) == (.stereo, [[0, 1], [1, 0]]))
        let right = try #require(ChannelPick.right.applied(to: .stereo))
        #expect((right.layout, right.rows) == (.mono, [[0, 1]]))
        let picked = try #require(ChannelPick.numbers([3, 4]).applied(to: .discrete(5)))
        #expect((picked.layout, picked.rows) == (.stereo, [[0, 0, 1, 0, 0], [0, 0, 0, 1, 0]]))
        let sum = try #require(ChannelPick.sum.applied(to: .stereo))
        #expect((sum.layout, sum.rows) == (.mono, [[0.5, 0.5]]))
    }

    @Test func channelsThatTheSourceLacksCannotBeTaken() {
        #expect(ChannelPick.right.applied(to: .mono) == nil)
        #expect(ChannelPick.swap.applied(to: .threePointZero) == nil)
        #expect(ChannelPick.numbers([3]).applied(to: .stereo) == nil)
        #expect(ChannelPick.numbers([]).applied(to: .stereo) == nil)
        #expect(ChannelPick.sum.applied(to: .discrete(3)) == nil)
        #expect(ChannelPick.left.applied(to: .discrete(.max)) == nil)
    }
}
