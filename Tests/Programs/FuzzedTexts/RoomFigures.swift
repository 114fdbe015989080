package import Conversion
import PumpRoom

/// Messages that a correct room may send, with a value in every field.
package enum RoomFigures {
    package static let progress = ConversionProgress(
        position: MediaTime(frames: 8_000, rate: 8_000),
        frames: 8_000,
        totalFrames: 16_000,
        verifiedFrames: 4_000
    )

    package static let failure = Failure(
        code: "corrupt_stream",
        kind: .permanent,
        stage: "decode",
        message: "a frame is broken",
        stream: 1,
        position: MediaTime(frames: 4_000, rate: 8_000),
        frame: 4_000,
        libavName: "INVALIDDATA",
        libavText: "t",
        hint: "h",
        refusals: [FormatRefusal.Reason(field: "f", value: "v", why: "w", allowed: "a", hint: "h")]
    )

    /// One message of each kind that a room writes.
    static let replies: [String] = {
        do {
            return try WireReading.replies(progress, try report(), try description(), failure).map(text)
        } catch {
            preconditionFailure("what an honest room says cannot be written: \(error)")
        }
    }()

    /// One message of each kind that a slot writes.
    static func requests(_ recipe: String) -> [String] {
        do {
            return try WireReading.requests(try Recipe(json: recipe)).map(text)
        } catch {
            preconditionFailure("what a slot says cannot be written: \(error)")
        }
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    package static func report() throws -> ConversionReport {
        ConversionReport(
            source: .init(track: 0, codec: "pcm_s16le", sampleRateHz: 8_000, channelCount: 2, frames: 8_000),
            format: try format(),
            plannedFrames: 8_000,
            writtenFrames: 8_000,
            decodedFrames: 8_000,
            bytes: 32_044,
            damage: DamageReport(
                frames: 3,
                stretchCount: 1,
                stretches: [.init(start: 5, frames: 3, code: "truncated")]
            ),
            isVerified: true,
            digest: "00ff",
            lostTags: ["title"],
            remarks: [Remark(.tags, "one tag", count: 1)],
            loudness: LoudnessChange(
                targetLUFS: -16,
                ceilingDBTP: -1,
                measured: loudness,
                gainDB: 4,
                limitedFrames: 10,
                largestReductionDB: 1,
                reachedLUFS: -16
            ),
            waveform: WaveformReport(
                channelCount: 2,
                length: 32,
                samplesPerPixel: 256,
                bits: 8,
                width: 1_200,
                height: 400,
                spectrogram: .mel
            )
        )
    }

    private static let loudness = LoudnessReport(
        integratedLUFS: -20,
        rangeLU: 5,
        momentaryMaxLUFS: -15,
        shortTermMaxLUFS: -18,
        samplePeakDBFS: -3,
        truePeakDBTP: -2
    )

    private static func format() throws -> ResolvedFormat {
        try AudioFormat(container: .wav, codec: .pcm).resolved(
            for: AudioShape(
                sampleRateHz: 8_000,
                channelCount: 2,
                bitDepth: 16,
                codecName: "pcm_s16le",
                isLossless: true
            )
        )
    }

    package static func description() throws -> SourceReport {
        var track = TrackReport(
            track: 0,
            isMain: true,
            codec: "pcm_s16le",
            sampleRateHz: 8_000,
            channelCount: 2,
            layout: "stereo",
            bitDepth: 16,
            sampleKind: .integer,
            isLossless: true,
            bitRate: 256_000,
            frames: 8_000,
            exactness: .exact,
            delayFrames: 0,
            paddingFrames: 0,
            isProtected: false
        )
        (track.lowestBitRate, track.highestBitRate) = (128_000, 192_000)
        (track.decodedSampleRatesHz, track.decodedChannelCounts) = (8_000...16_000, 1...2)
        var description = SourceReport(
            container: "wav",
            tracks: [track],
            tags: [TagReport(name: "n", value: "v;w", values: ["v", "w"], isTechnical: false)],
            chapters: [ChapterReport(start: .zero, end: MediaTime(frames: 1, rate: 1), title: "t")],
            cover: CoverReport(type: "image/png", width: 1, height: 1, bytes: 70),
            isProtected: false,
            scan: ScanReport(
                frames: 8_000,
                damage: DamageReport(),
                sound: SoundDigest(
                    sha256: String(repeating: "0f", count: 32),
                    form: "s16le",
                    sampleRateHz: 8_000,
                    channelCount: 1
                )
            ),
            loudness: loudness,
            outline: SoundOutline(
                secondsPerPart: 0.5,
                lowest: [-0.5, 0],
                highest: [0.5, 0],
                momentaryLUFS: [-23.1, nil]
            ),
            silences: [1_000, 2_500],
            presets: [
                PresetFit(
                    preset: "p",
                    summary: "s",
                    format: try format(),
                    frames: 8_000,
                    estimatedBytes: 32_044,
                    reasons: [],
                    hints: []
                )
            ],
            // The points themselves are in messages of their own.
            points: PointReport(sampleRateHz: 8_000, frames: 8_000, points: [], found: ["cue": 5_000], outside: 2)
        )
        description.levels = LevelReport(
            length: MediaTime(frames: 8_000, rate: 8_000),
            rmsDBFS: -20,
            loudestSecond: .init(levelDBFS: -18, start: .zero),
            noiseFloor: .init(levelDBFS: -60, start: MediaTime(frames: 800, rate: 8_000)),
            peakAt: MediaTime(frames: 17, rate: 8_000),
            toneAtStart: .zero,
            toneAtEnd: MediaTime(frames: 80, rate: 8_000)
        )
        return description
    }
}
