/// The result of decoding a track from end to end.
public struct ScanReport: Sendable, Hashable, Codable {
    /// Frames decoded, including silence that replaces lost ones.
    public var frames: Int64
    public var damage: DamageReport
    /// The digest of the sound, if requested.
    public var sound: SoundDigest?
    /// The loudness, of a scan that was submitted as a job. A description of a file has it beside this report.
    public var loudness: LoudnessReport?

    public init(frames: Int64, damage: DamageReport, sound: SoundDigest? = nil, loudness: LoudnessReport? = nil) {
        self.frames = frames
        self.damage = damage
        self.sound = sound
        self.loudness = loudness
    }

    /// The length in seconds; `nil` without a digest, which has the rate.
    public var seconds: Double? { sound.map { Double(frames) / Double(max(1, $0.sampleRateHz)) } }
}

/// SHA-256 of the sound of a track. It does not change with the tags, the cover or the container's other parts.
///
/// Of a lossless track it covers the decoded samples: interleaved, little-endian, each in as many whole bytes as its bit
/// depth needs, as `ffmpeg -f s16le` or `-f s24le` writes them. Of a lossy track it covers the packets that are decoded,
/// because decoders on other processors round differently.
public struct SoundDigest: Sendable, Hashable, Codable {
    /// 64 lower-case hexadecimal digits.
    public var sha256: String
    /// What it covers: the form of the samples, as `s24le`, or `packets` and libav's name of the codec, as `packets mp3`.
    public var form: String
    public var sampleRateHz: Int
    public var channelCount: Int
    /// The libraries that decoded the track, if it has damage: what they make of damage differs between releases. `nil` if
    /// the digest depends on the file alone.
    public var decoder: String?

    public init(sha256: String, form: String, sampleRateHz: Int, channelCount: Int, decoder: String? = nil) {
        self.sha256 = sha256
        self.form = form
        self.sampleRateHz = sampleRateHz
        self.channelCount = channelCount
        self.decoder = decoder
    }

    /// Whether `sha256` is a SHA-256 in lower-case hexadecimal digits.
    public var isWellFormed: Bool {
        sha256.utf8.count == 64
            && sha256.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }

    /// The form with the rate and the channels: what must be equal for two digests to be compared as one sound.
    public var description: String { "\(form) \(sampleRateHz) Hz \(channelCount) ch" }
}
