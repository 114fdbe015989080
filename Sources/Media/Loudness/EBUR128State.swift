import CLoudness
import Conversion
import Glibc

/// A measurement in libebur128: filters the sound as BS.1770 does, and finds its peaks.
///
/// What belongs to the whole track, the gates of the integrated loudness and of the range, is computed in
/// `LoudnessWindows`: libebur128 either keeps every block of 100 ms, or rounds each to 0.1 LU.
struct EBUR128State: ~Copyable {
    private let pointer: UnsafeMutablePointer<ebur128_state>
    private let channelCount: Int

    /// Takes ownership of `pointer`.
    private init(adopting pointer: UnsafeMutablePointer<ebur128_state>, channelCount: Int) {
        self.pointer = pointer
        self.channelCount = channelCount
    }

    deinit {
        var doomed: UnsafeMutablePointer<ebur128_state>? = pointer
        ebur128_destroy(&doomed)
    }

    /// Begins a measurement. Throws `resample_failed` for a rate or a number of channels that libebur128 does not
    /// measure: rates from 16 Hz to 2.8 MHz and 64 channels.
    static func open(rate: Int, layout: ChannelLayout) throws -> EBUR128State {
        let modes = EBUR128_MODE_M.rawValue | EBUR128_MODE_SAMPLE_PEAK.rawValue | EBUR128_MODE_TRUE_PEAK.rawValue
        guard rate > 0, let state = ebur128_init(UInt32(layout.channelCount), UInt(rate), Int32(modes)) else {
            throw MediaError(
                .resampleFailed,
                at: .resample,
                "the loudness of \(Plural.count(layout.channelCount, "channel")) at \(rate) Hz cannot be measured"
            )
        }
        let opened = EBUR128State(adopting: state, channelCount: layout.channelCount)
        for (channel, place) in Speaker.places(of: layout).enumerated() {
            try check(ebur128_set_channel(state, UInt32(channel), Int32(place.rawValue)), "ebur128_set_channel")
        }
        return opened
    }

    /// Adds interleaved samples.
    borrowing func add(_ samples: UnsafePointer<Float>, frames: Int) throws {
        try Self.check(ebur128_add_frames_float(pointer, samples, frames), "ebur128_add_frames_float")
    }

    /// The mean energy of the last milliseconds, at most 400, over all channels with their weights.
    borrowing func energy(ofLast milliseconds: Int) throws -> Double {
        var loudness = 0.0
        try Self.check(ebur128_loudness_window(pointer, UInt(milliseconds), &loudness), "ebur128_loudness_window")
        return LoudnessScale.energy(loudness)
    }

    /// The largest sample of all channels, as a factor of full scale.
    borrowing func samplePeak() throws -> Double {
        try largest { try Self.check(ebur128_sample_peak(pointer, $0, &$1), "ebur128_sample_peak") }
    }

    /// The largest oversampled value of all channels, as a factor of full scale.
    borrowing func truePeak() throws -> Double {
        try largest { try Self.check(ebur128_true_peak(pointer, $0, &$1), "ebur128_true_peak") }
    }

    private borrowing func largest(_ peak: (UInt32, inout Double) throws -> Void) throws -> Double {
        var largest = 0.0
        for channel in 0..<channelCount {
            var value = 0.0
            try peak(UInt32(channel), &value)
            largest = max(largest, value)
        }
        return largest
    }

    private static func check(_ code: Int32, _ call: String) throws {
        guard code != Int32(EBUR128_SUCCESS.rawValue) else { return }
        if code == Int32(EBUR128_ERROR_NOMEM.rawValue) {
            throw MediaError(.outOfMemory, at: .resample, "no memory to measure the loudness")
        }
        throw MediaError(.resampleFailed, at: .resample, "\(call) failed with \(code)")
    }
}

/// The weight of each channel, by its speaker.
private enum Speaker {
    /// libebur128's names for the places of `layout`, in order.
    ///
    /// BS.1770 gives speakers between 60 and 120 degrees 1.5 dB more, and leaves out low frequencies. The back
    /// speakers of a layout without sides are its surround speakers, at 110 degrees. Channels without positions
    /// count like front speakers.
    static func places(of layout: ChannelLayout) -> [channel] {
        guard !layout.isDiscrete else { return Array(repeating: EBUR128_LEFT, count: layout.channelCount) }
        let hasSides = layout.mask & sides != 0
        return (0..<64).filter { layout.mask >> UInt64($0) & 1 == 1 }.map { place(ofBit: $0, besideSides: hasSides) }
    }

    private static let sides: UInt64 = 0x600

    private static func place(ofBit bit: Int, besideSides hasSides: Bool) -> channel {
        switch bit {
        // Low frequencies, and the second such channel.
        case 3, 35: EBUR128_UNUSED
        case 4: hasSides ? EBUR128_Mp135 : EBUR128_LEFT_SURROUND
        case 5: hasSides ? EBUR128_Mm135 : EBUR128_RIGHT_SURROUND
        case 9: EBUR128_Mp090
        case 10: EBUR128_Mm090
        // In front, behind or above: all with the weight 1.
        default: EBUR128_LEFT
        }
    }
}

/// Between energies and loudness levels, and between factors and decibels.
enum LoudnessScale {
    /// BS.1770's constant: a sine of 997 Hz at full scale in one front channel then has -3.01 LKFS.
    private static let offset = -0.691

    static func energy(_ lufs: Double) -> Double { pow(10, (lufs - offset) / 10) }

    /// Minus infinity for 0.
    static func lufs(_ energy: Double) -> Double { offset + 10 * log10(energy) }

    static func factor(_ decibels: Double) -> Double { pow(10, decibels / 20) }

    /// Minus infinity for 0.
    static func decibels(_ factor: Double) -> Double { 20 * log10(factor) }
}
