import Conversion
import TestSupport
import Testing

@testable import Media

/// The silences between the sounds of a track are found to the frame, in every format and with any blocks.
@Suite struct SilenceFinderTests {
    private func middles(
        _ pcm: Signal,
        _ silence: String,
        as format: PCM.SampleFormat = .f32,
        most: Int = 100,
        blockFrames: @escaping (Int) -> Int = { _ in 1_000 }
    ) throws -> [Int64] {
        var finder = SilenceFinder(try SilenceTrim(parsing: silence), rate: pcm.rate, most: most)
        let output = SignalOutput(pcm, as: format, blockFrames: blockFrames)
        var block = try SampleBlock()
        while try output.next(into: &block) { finder.add(block) }
        return finder.middles
    }

    /// One where a sample is loud, in one of two channels by turns.
    private func signal(_ loud: [ClosedRange<Int>], frames: Int) -> Signal {
        var channels = [[Double]](repeating: [Double](repeating: 0.0005, count: frames), count: 2)
        for (index, range) in loud.enumerated() { for frame in range { channels[index % 2][frame] = -0.5 } }
        return Signal(rate: 1_000, channels: channels)
    }

    @Test(arguments: [[1], [7, 64, 3], [1_000], [5_000]], [PCM.SampleFormat.f32, .f64])
    func middlesAreExactWhateverTheBlocks(lengths: [Int], format: PCM.SampleFormat) throws {
        // Silences of 99, 100, 101 and 1,400 frames between sounds, and longer ones at the ends.
        let sound = signal([500...599, 699...700, 801...801, 903...1_600, 3_001...3_001], frames: 5_000)
        let found = try middles(sound, "-60dB/0.1s", as: format) { lengths[$0 % lengths.count] }
        #expect(found == [751, 852, 2_301])
        #expect(try middles(sound, "-60dB/0.101s", as: format) == [852, 2_301])
        #expect(try middles(sound, "-60dB/1.401s", as: format).isEmpty)
    }

    @Test func silenceWithoutSoundAndSoundWithoutSilenceHaveNone() throws {
        #expect(try middles(signal([], frames: 3_000), "-60dB/0.1s").isEmpty)
        #expect(try middles(signal([0...2_999], frames: 3_000), "-60dB/0.1s").isEmpty)
        #expect(try middles(signal([1_500...1_500], frames: 3_000), "-60dB/0.1s").isEmpty)
        // What is not silent at this level.
        #expect(try middles(signal([0...9, 2_000...2_009], frames: 3_000), "-70dB/0.1s").isEmpty)
    }

    @Test func oneMoreThanTheMostIsKept() throws {
        let places = (0..<50).map { $0 * 20 }
        let clicks = signal(places.map { $0...$0 }, frames: 1_000)
        #expect(try middles(clicks, "-60dB/0.01s").count == 49)
        let first: [Int64] = (0..<11).map { (place: Int64) in place * 20 + 10 }
        #expect(try middles(clicks, "-60dB/0.01s", most: 10) == first)
    }
}
