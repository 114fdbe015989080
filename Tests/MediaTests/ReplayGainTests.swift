import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// ReplayGain: tags that state how loud an output is, by libebur128's own measurement of what the output decodes to.
@Suite struct ReplayGainTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// Ten seconds of low noise whose level wanders.
    private static func music(amplitude: Double = 0.4) -> Signal {
        let noise = Signal.noise(seed: 3, rate: 48_000, frames: 480_012, channels: 2, amplitude: amplitude)
        return noise.movingSum(of: 12).swelling()
    }

    private func convert(
        _ pcm: PCM,
        to name: String,
        sourceTags: [(String, String)] = [],
        _ change: (inout Converter.Request) throws -> Void = { _ in }
    ) throws -> (path: String, outcome: Converter.Outcome) {
        try WAVFile.write(pcm, to: folder.path("in.wav"))
        var input = folder.path("in.wav")
        if !sourceTags.isEmpty {
            input = folder.path("in.flac")
            let arguments = sourceTags.flatMap { ["-metadata", "\($0)=\($1)"] }
            try FFmpeg.encode(folder.path("in.wav"), to: input, arguments)
        }
        var request = Converter.Request(format: try Recipe.Output(location: name).audioFormat())
        request.replayGain = .track
        request.nameHint = input
        try change(&request)
        let source = try OpenFile.reading(input)
        let destination = try OpenFile.creating(folder.path(name))
        let outcome = try Converter(request).run(from: [source.descriptor], to: destination.descriptor)
        return (folder.path(name), outcome)
    }

    /// The tags of a file as ffprobe finds them, with names in lower case.
    private func tags(_ path: String) throws -> [String: String] {
        let probe = try FFmpeg.probe(path)
        var found: [String: String] = [:]
        for tags in [probe.tags, probe.audio.first?.tags ?? [:]] {
            for (name, text) in tags { found[name.lowercased()] = text }
        }
        return found
    }

    private func signal(_ path: String) throws -> Signal {
        let pcm = try FFmpeg.decode(path, to: .f64)
        return Signal(rate: pcm.rate, channels: (0..<pcm.channels).map { pcm.samples(channel: $0) })
    }

    private func gain(_ tags: [String: String]) throws -> Double {
        let text = try #require(tags["replaygain_track_gain"])
        #expect(text.firstMatch(of: #/^-?[0-9]+\.[0-9]{2} dB$/#) != nil, "\(text)")
        return try #require(Double(text.dropLast(3)))
    }

    private func peak(_ tags: [String: String]) throws -> Double {
        try #require(Double(tags["replaygain_track_peak"] ?? ""))
    }

    @Test(arguments: ["flac", "ogg", "mp3", "m4a", "mka", "aiff"]) func tagsStateTheLoudness(name: String) throws {
        // Codecs change the sound a little after it was measured, and noise more than tones.
        let isLossless = ["flac", "aiff"].contains(name)
        let sound = isLossless ? Self.music() : Signal.melody()
        let (path, outcome) = try convert(sound.pcm(.s16), to: "out.\(name)")
        let (found, truth) = (try tags(path), try ReferenceLoudness(signal(path)))
        #expect(abs(try gain(found) - (-18 - truth.integrated)) < (isLossless ? 0.03 : 0.15), "\(found)")
        #expect(abs(try peak(found) / truth.truePeak - 1) < (isLossless ? 0.01 : 0.2), "\(found)")
        #expect(!outcome.remarks.contains { $0.kind == .tags })
        #expect(found["r128_track_gain"] == nil)
    }

    @Test(arguments: ["opus", "mka"]) func opusHasItsOwnTag(name: String) throws {
        let (path, _) = try convert(Signal.melody().pcm(.s16), to: "out.\(name)") { $0.format.codec = .opus }
        let found = try tags(path)
        let units = try #require(Int(found["r128_track_gain"] ?? ""))
        #expect(abs(Double(units) / 256 - (-23 - (try ReferenceLoudness(signal(path)).integrated))) < 0.15)
        #expect(found["replaygain_track_gain"] == nil && found["replaygain_track_peak"] == nil)
    }

    /// ffmpeg 5.1 honours these tags in FLAC and MP3, and not in Ogg.
    @Test(arguments: ["flac", "mp3"]) func ffmpegLevelsTheOutputByItsTags(name: String) throws {
        let (path, _) = try convert(Signal.melody().pcm(.s16), to: "out.\(name)")
        let levelled = try FFmpeg.decode(path, to: .f64, extraArguments: ["-af", "volume=replaygain=track"])
        let channels = (0..<levelled.channels).map { levelled.samples(channel: $0) }
        #expect(abs(try ReferenceLoudness(Signal(rate: levelled.rate, channels: channels)).integrated + 18) < 0.15)
    }

    @Test func m4aHasTheNamesOfITunes() throws {
        let bytes = try Bytes.read(convert(Self.music().pcm(.s16), to: "out.m4a").path)
        for name in ["----", "com.apple.iTunes", "REPLAYGAIN_TRACK_GAIN", "REPLAYGAIN_TRACK_PEAK"] {
            #expect(Bytes.find(name, in: bytes) != nil, "\(name)")
        }
        let mp3 = try Bytes.read(convert(Self.music().pcm(.s16), to: "out.mp3").path)
        #expect(Bytes.find("TXXX", in: mp3) != nil)
    }

    @Test func samplesStayAsTheyAre() throws {
        let pcm = Self.music().pcm(.s24)
        let (path, outcome) = try convert(pcm, to: "out.flac")
        #expect(try FFmpeg.decode(path, to: .s24) == pcm)
        #expect(outcome.loudness == nil && outcome.remarks.isEmpty)
    }

    /// With a loudness, the tags state what the gain and the limiter have made of the sound.
    @Test(arguments: [-30, -9]) func loudnessComesFirst(target: Int) throws {
        let (path, outcome) = try convert(Self.music(amplitude: 0.2).pcm(.s16), to: "out.flac") { request in
            request.loudness = LoudnessGoal(target: .level(.init(hundredths: target * 100)))
        }
        #expect((outcome.loudness?.limitedFrames ?? 0 > 0) == (target == -9))
        let (found, truth) = (try tags(path), try ReferenceLoudness(signal(path)))
        #expect(abs(try gain(found) - (-18 - truth.integrated)) < 0.03)
        #expect(abs(20 * log10(try peak(found) / truth.truePeak)) < 0.1)
    }

    @Test func clippedSoundIsMeasuredAsItIsWritten() throws {
        let (path, outcome) = try convert(Self.music(amplitude: 4).pcm(.f32), to: "out.flac")
        #expect(outcome.remarks.contains { $0.kind == .samplesClipped })
        let (found, truth) = (try tags(path), try ReferenceLoudness(signal(path)))
        #expect(abs(try gain(found) - (-18 - truth.integrated)) < 0.05)
        #expect(abs(20 * log10(try peak(found) / truth.truePeak)) < 0.1)
    }

    @Test func timelinesAreMeasuredAsAWhole() throws {
        let quieter = Gain(decibels: -12) ?? .silence
        let (path, _) = try convert(
            Self.music().pcm(.s16),
            to: "out.flac",
            sourceTags: [("REPLAYGAIN_TRACK_GAIN", "-1.00 dB"), ("TITLE", "A")]
        ) {
            let piece = Piece(
                .source("a"),
                trimSilence: try SilenceTrim(parsing: "-60dB/1"),
                repeats: .times(2),
                gain: quieter
            )
            ($0.timeline, $0.inputs) = (Timeline(tracks: [.init(pieces: [piece])]), [.init(name: "a")])
        }
        let (found, truth) = (try tags(path), try ReferenceLoudness(signal(path)))
        #expect(abs(try gain(found) - (-18 - truth.integrated)) < 0.03)
        #expect(found["title"] == "A")
    }

    @Test func whatTheSourceStatedIsReplaced() throws {
        let stale = [
            ("REPLAYGAIN_TRACK_GAIN", "-1.00 dB"), ("REPLAYGAIN_ALBUM_GAIN", "-2.00 dB"), ("R128_TRACK_GAIN", "7"),
            ("TITLE", "A"),
        ]
        let found = try tags(convert(Self.music().pcm(.s16), to: "out.flac", sourceTags: stale).path)
        #expect(found["title"] == "A" && found["replaygain_album_gain"] == nil && found["r128_track_gain"] == nil)
        #expect(found["replaygain_track_gain"] != "-1.00 dB")
        let wished = try tags(
            convert(Self.music().pcm(.s16), to: "more.flac") { $0.tags = ["replaygain_track_gain": "+1.00 dB"] }.path
        )
        #expect(wished["replaygain_track_gain"] == "+1.00 dB" && wished["replaygain_track_peak"] != nil)
    }

    @Test func editedSoundLosesStaleTags() throws {
        let stale = [("REPLAYGAIN_TRACK_GAIN", "-1.00 dB"), ("TITLE", "A")]
        let found = try tags(
            convert(Self.music().pcm(.s16), to: "out.flac", sourceTags: stale) {
                $0.replayGain = nil
                let piece = Piece(.source("a"), gain: Gain(decibels: -12) ?? .silence)
                ($0.timeline, $0.inputs) = (Timeline(tracks: [.init(pieces: [piece])]), [.init(name: "a")])
            }.path
        )
        #expect(found["title"] == "A" && found["replaygain_track_gain"] == nil)
    }

    @Test func containersWithoutPlaceAreRemarked() throws {
        for name in ["out.w64", "out.au"] {
            let remark = try convert(Self.music().pcm(.s16), to: name).outcome.remarks.first
            #expect(remark?.kind == .tags && remark?.detail.contains("REPLAYGAIN_TRACK_GAIN") == true, "\(name)")
        }
        let error = #expect(throws: MediaError.self) {
            try convert(Self.music().pcm(.s16), to: "strict.w64") { $0.refusesLoss = true }
        }
        #expect(error?.code == .lossRefused)
    }

    @Test func silenceHasNoTags() throws {
        let silence = Signal.silence(rate: 48_000, frames: 48_000).pcm(.s16)
        let (path, outcome) = try convert(silence, to: "out.flac")
        #expect(outcome.remarks.map(\.kind) == [.loudnessUnmeasured])
        #expect(try tags(path)["replaygain_track_gain"] == nil)
    }

    @Test func packetsAreNotMeasured() throws {
        let error = #expect(throws: MediaError.self) {
            try convert(Self.music().pcm(.s16), to: "out.mka") { $0.format.codec = .copy }
        }
        #expect(error?.code == .passthroughRefused)
        let recipe = Recipe(
            from: .init(location: "a.wav"),
            to: .init(location: "b.mka", format: AudioFormat(container: .mka, codec: .copy), replayGain: .track)
        )
        let refusal = #expect(throws: RecipeError.self) { try recipe.validate() }
        #expect(refusal?.path == "recipe.outputs[0].replayGain")
    }

    @Test func progressOfTwoPassesStaysWithinOne() throws {
        var measured: [Int64] = []
        try WAVFile.write(Self.music().pcm(.s16), to: folder.path("in.wav"))
        var request = Converter.Request(format: AudioFormat(container: .flac))
        request.replayGain = .track
        for target in [-40, -9] {
            request.loudness = LoudnessGoal(target: .level(.init(hundredths: target * 100)))
            let source = try OpenFile.reading(folder.path("in.wav"))
            let file = try OpenFile.creating(folder.path("out\(target).flac"))
            _ = try Converter(request).run(from: source.descriptor, to: file.descriptor) { progress in
                if let frames = progress.measuredFrames { measured.append(frames) }
            }
            #expect(measured == measured.sorted() && measured.last == 480_000)
            measured = []
        }
    }

    /// The tools of the formats themselves find the tags.
    @Test func metaflacAndOpusinfoReadTheTags() throws {
        let pcm = Self.music().pcm(.s16)
        let flac = try convert(pcm, to: "out.flac")
        let stated = try gain(tags(flac.path))
        let shown = try Run.program("metaflac", ["--show-tag=REPLAYGAIN_TRACK_GAIN", flac.path]).checked().outputText
        #expect(shown == "REPLAYGAIN_TRACK_GAIN=\(String(format: "%.2f", stated)) dB\n")
        let opus = try convert(pcm, to: "out.opus")
        let said = try Run.program("opusinfo", [opus.path]).checked().outputText
        let match = try #require(said.firstMatch(of: #/R128_TRACK_GAIN=(-?[0-9]+)/#))
        // The reference of Opus is 5 LU lower, and its unit a 256th of a decibel.
        #expect(abs(try #require(Double(match.1)) / 256 - (stated - 5)) < 0.02)
    }
}
