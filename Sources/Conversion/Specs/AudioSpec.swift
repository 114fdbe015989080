/// What a publisher or broadcaster accepts, as limits on what is measured in a file.
public enum AudioSpec: String, Sendable, Hashable, CaseIterable {
    case acx, librivox
    case ebuR128 = "ebu-r128"
    case applePodcast = "apple-podcast"
    case spotify

    /// One line for the user.
    public var summary: String {
        switch self {
        case .acx: "audiobooks for Audible, through ACX"
        case .librivox: "LibriVox recordings"
        case .ebuR128: "programmes for broadcasting"
        case .applePodcast: "episodes for Apple Podcasts"
        case .spotify: "music for Spotify"
        }
    }

    /// The page that states the limits.
    public var page: String {
        switch self {
        case .acx: "https://help.acx.com/s/article/what-are-the-acx-audio-submission-requirements"
        case .librivox: "https://wiki.librivox.org/index.php/Tech_Specs"
        case .ebuR128: "https://tech.ebu.ch/publications/r128"
        case .applePodcast: "https://podcasters.apple.com/support/893-audio-requirements"
        case .spotify: "https://support.spotify.com/artists/article/loudness-normalization/"
        }
    }

    /// The limits, in the order in which they are shown.
    public var rules: [SpecRule] {
        switch self {
        case .acx:
            [
                .words(.container, ["mp3"]), .words(.codec, ["mp3"]), .exactly(.sampleRate, 44_100),
                .between(.channels, 1, 2), .atLeast(.bitRate, 192_000), .words(.bitRateMode, [SpecRule.constant]),
                .atMost(.length, 7_200), .between(.rms, -23, -18), .atMost(.samplePeak, -3),
                .atMost(.noiseFloor, -60), .between(.toneAtStart, 0.5, 1), .between(.toneAtEnd, 1, 5),
            ]
        case .librivox:
            [
                .words(.container, ["mp3"]), .words(.codec, ["mp3"]), .exactly(.sampleRate, 44_100),
                .exactly(.channels, 1), .exactly(.bitRate, 128_000), .words(.bitRateMode, [SpecRule.constant]),
                .between(.loudness, -21, -16),
            ]
        case .ebuR128:
            [.between(.loudness, -23.2, -22.8), .atMost(.truePeak, -1)]
        case .applePodcast:
            [
                .words(.codec, ["mp3", "aac", "flac", SpecRule.pcm]), .atLeast(.sampleRate, 44_100),
                .between(.channels, 1, 2), .between(.loudness, -17, -15), .atMost(.truePeak, -1),
            ]
        case .spotify:
            [.between(.loudness, -15, -13), .atMost(.truePeak, -1, ofLouder: .init(thanLUFS: -13.9, most: -2))]
        }
    }
}

/// One limit of a spec.
public struct SpecRule: Sendable, Hashable {
    /// What is limited.
    public enum Quantity: String, Sendable, Hashable, CaseIterable, Codable {
        case container, codec
        case sampleRate = "sample_rate"
        case channels
        case bitRate = "bit_rate"
        case bitRateMode = "bit_rate_mode"
        case length, loudness, rms
        case samplePeak = "sample_peak"
        case truePeak = "true_peak"
        case noiseFloor = "noise_floor"
        case toneAtStart = "tone_at_start"
        case toneAtEnd = "tone_at_end"

        /// The unit of its figures; `nil` for words and counts.
        public var unit: String? {
            switch self {
            case .container, .codec, .channels, .bitRateMode: nil
            case .sampleRate: "Hz"
            case .bitRate: "bit/s"
            case .length, .toneAtStart, .toneAtEnd: "s"
            case .loudness: "LUFS"
            case .rms, .samplePeak, .noiseFloor: "dBFS"
            case .truePeak: "dBTP"
            }
        }
    }

    /// Another upper limit for sound that is louder than a level.
    public struct LouderLimit: Sendable, Hashable {
        public let thanLUFS: Double
        public let most: Double
    }

    public let quantity: Quantity
    /// The words that are allowed; empty for figures.
    public let words: [String]
    public let least: Double?
    public let most: Double?
    public let ofLouder: LouderLimit?

    private init(
        _ quantity: Quantity,
        words: [String] = [],
        least: Double? = nil,
        most: Double? = nil,
        ofLouder: LouderLimit? = nil
    ) {
        (self.quantity, self.words, self.least, self.most) = (quantity, words, least, most)
        self.ofLouder = ofLouder
    }

    static func words(_ quantity: Quantity, _ words: [String]) -> SpecRule { SpecRule(quantity, words: words) }
    static func exactly(_ quantity: Quantity, _ figure: Double) -> SpecRule {
        SpecRule(quantity, least: figure, most: figure)
    }
    static func atLeast(_ quantity: Quantity, _ least: Double) -> SpecRule { SpecRule(quantity, least: least) }
    static func atMost(_ quantity: Quantity, _ most: Double, ofLouder: LouderLimit? = nil) -> SpecRule {
        SpecRule(quantity, most: most, ofLouder: ofLouder)
    }
    static func between(_ quantity: Quantity, _ least: Double, _ most: Double) -> SpecRule {
        SpecRule(quantity, least: least, most: most)
    }

    /// The words for files whose packets all have one bit rate, and for others.
    public static let constant = "constant"
    public static let variable = "variable"
    /// Stands for PCM of 16 or 24 bits in either order of bytes.
    public static let pcm = "pcm"
    /// libav's names of these.
    static let pcmNames = ["pcm_s16le", "pcm_s24le", "pcm_s16be", "pcm_s24be"]
}
