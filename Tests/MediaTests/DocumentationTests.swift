import Conversion
import Foundation
import Media
import TestSupport
import Testing

/// The code in Media.docc equals `DocumentationExamples.swift` and does what the articles say.
struct DocumentationTests {
    // MARK: Word for word

    /// The code between the markers, by name.
    private func examples() throws -> [String: String] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let text = try String(contentsOf: folder.appending(path: "DocumentationExamples.swift"), encoding: .utf8)
        var found: [String: String] = [:]
        for part in text.components(separatedBy: "// example: ").dropFirst() {
            let name = part.prefix { $0 != "\n" }
            let end = try #require(part.range(of: "\n// end\n"), "\(name) has no end")
            found[String(name)] = String(part[part.index(after: name.endIndex)..<end.lowerBound])
        }
        return found
    }

    /// Every Swift code block in the articles.
    private func quoted() throws -> [String] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let catalog = root.appending(path: "Sources/Media/Media.docc")
        let pages = try FileManager.default.contentsOfDirectory(at: catalog, includingPropertiesForKeys: nil)
        return try pages.filter { $0.pathExtension == "md" }.flatMap { page in
            let blocks = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "```")
            return blocks.enumerated().compactMap { (index, block) -> String? in
                // Every second piece lies between code fences.
                guard !index.isMultiple(of: 2), block.hasPrefix("swift\n") else { return nil }
                return String(block.dropFirst("swift\n".count).dropLast())
            }
        }
    }

    @Test func theArticlesHoldExactlyTheCodeThatIsCompiled() throws {
        let examples = try examples()
        #expect(examples.count >= 10)
        #expect(try quoted().sorted() == examples.values.sorted())
    }

    // MARK: Run

    private let folder: TemporaryFolder
    private let pcm = Signal.tone(440, rate: 8000, frames: 8000 * 3, channels: 1).pcm(.s16)

    init() throws { folder = try TemporaryFolder.create() }

    private func source(_ pcm: PCM) throws -> FileHandle {
        let path = folder.path("source.wav")
        try WAVFile.write(pcm, to: path)
        return try FileHandle(forReadingFrom: URL(filePath: path))
    }

    private func destination(_ name: String) throws -> FileHandle {
        try Data().write(to: URL(filePath: folder.path(name)))
        return try FileHandle(forUpdating: URL(filePath: folder.path(name)))
    }

    @Test func convertingMakesAPodcast() throws {
        _ = try source(pcm)
        let path = folder.path("episode.mp3")
        let bytes = try makePodcast(from: URL(filePath: folder.path("source.wav")), at: URL(filePath: path))
        #expect(try Bytes.size(of: path) == Int(bytes))
        #expect(try FFmpeg.decode(path).frames == 3 * 44_100)
    }

    @Test func askingAnswersForEveryPreset() throws {
        let input = try source(pcm)
        let lines = try answers(for: input)
        #expect(lines.count == Preset.all.count)
        #expect(lines.contains("wav: 8000 Hz, \(80 + 48_000) bytes"))
    }

    @Test func readingCountsTwoMinutes() throws {
        let input = try source(Signal.silence(rate: 100, frames: 100 * 450).pcm(.s16))
        #expect(try framesOfTwoMinutes(in: input) == 12_000)
    }

    @Test func damageIsListed() throws {
        let input = try source(pcm)
        try Bytes.truncate(folder.path("source.wav"), to: 44 + 2 * 10_000)
        let stretches = try lostStretches(in: input)
        #expect(stretches.map(\.start) == [10_000] && stretches.map(\.frames) == [14_000])
    }

    @Test func peakingFindsTheLoudestSamples() throws {
        let quiet = Signal.tone(440, rate: 8000, frames: 8000, channels: 1, amplitude: 0.25).pcm(.s16)
        let input = try source(pcm.followed(by: quiet))
        let peaks = try peaks(of: input, inSeconds: [3, 0])
        #expect(peaks.count == 2 && abs(peaks[0] - 0.25) < 0.001 && peaks[1] > 0.49)
    }

    @Test func measuringSumsTheSquares() throws {
        let floats = Signal.tone(440, rate: 8000, frames: 8000, channels: 2, amplitude: 0.5).pcm(.f32)
        let input = try source(floats)
        let wanted = floats.samples(channel: 0)[1000..<5000].reduce(0) { $0 + $1 * $1 }
        #expect(try abs(energy(of: input, in: 1000..<5000) - wanted) < 1e-6)
    }

    @Test func reversingTurnsTheSound() throws {
        let input = try source(pcm)
        let output = try destination("reversed.wav")
        #expect(try reverse(input, to: output).writtenFrames == 24_000)
        #expect(try FFmpeg.decode(folder.path("reversed.wav")) == pcm.reversed())
    }

    @Test func composingMixesAndFades() throws {
        // A jingle at one level, a talk at another, and silent music, so that every sample is known.
        func level(_ amplitude: Double, seconds: Int) -> PCM {
            Signal(rate: 8000, channels: [[Double](repeating: amplitude, count: 8000 * seconds)]).pcm(.s16)
        }
        func file(_ name: String, _ pcm: PCM) throws -> FileHandle {
            try WAVFile.write(pcm, to: folder.path(name))
            return try FileHandle(forReadingFrom: URL(filePath: folder.path(name)))
        }
        let sources = (
            jingle: try file("jingle.wav", level(0.5, seconds: 2)),
            talk: try file("talk.wav", level(0.25, seconds: 4)),
            music: try file("music.wav", level(0.25, seconds: 5))
        )
        let output = try destination("show.flac")
        #expect(try compose(sources, into: output).writtenFrames == 5 * 8000)
        let show = try FFmpeg.decode(folder.path("show.flac")).samples(channel: 0)
        #expect(show.count == 5 * 8000)
        let music = 0.25 * pow(10, -18.0 / 20)
        func wanted(_ frame: Int) -> Double {
            let time = Double(frame) / 8000
            let talk = 0.25 * min(1, max(0, 5 - time))
            switch time {
            case ..<1: return 0.5 + music
            case ..<2: return 0.5 * cos((time - 1) * .pi / 2) + talk * sin((time - 1) * .pi / 2) + music
            default: return talk + music
            }
        }
        for frame in stride(from: 0, to: show.count, by: 101) {
            #expect(abs(show[frame] - wanted(frame)) < 4.0 / 32_768, "frame \(frame)")
        }
    }

    @Test func pumpingKeepsEverySample() throws {
        let input = try source(pcm)
        let output = try destination("archive.flac")
        #expect(try archive(input, in: output).writtenFrames == 24_000)
        #expect(try FFmpeg.decode(folder.path("archive.flac")) == pcm)
    }

    @Test func appendingWritesATone() async throws {
        let output = try destination("tone.wav")
        #expect(try await writeTone(to: output).writtenFrames == 144_000)
        let tone = try FFmpeg.decode(folder.path("tone.wav"), to: .f32)
        #expect(tone.frames == 144_000 && tone.samples(channel: 0).max()! > 0.49)
    }

    @Test func capturingTakesABlock() async throws {
        let output = try destination("live.wav")
        let shape = AudioShape(
            sampleRateHz: 8000,
            channelCount: 1,
            bitDepth: 16,
            codecName: "pcm_s16le",
            isLossless: true
        )
        let format = try AudioFormat(container: .wav).resolved(for: shape)
        let writer = try AsyncWriter(descriptor: output.fileDescriptor, format: format)
        #expect(try keep(PCMBlock([1, 2, 3] as [Int16], sampleRateHz: 8000, channelCount: 1), in: writer))
        #expect(try await writer.finish().writtenFrames == 3)
        // Closes the handle only here: a handle released earlier closes the file under the writer.
        try output.close()
    }

    @Test func followingShowsTheWhole() async throws {
        let input = try source(pcm)
        let output = try destination("out.m4a")
        var last = 0.0
        let outcome = try await convert(input, to: output) { last = $0 }
        #expect(last == 1 && outcome.summary.writtenFrames == 24_000)
    }

    @Test func streamingFindsThePeak() async throws {
        let input = try source(pcm)
        let highest = pcm.samples(channel: 0).map { abs($0) }.max()! * 32_768
        #expect(try await peak(of: input) == Int16(highest))
    }

    @Test func copyingMakesOpus() async throws {
        let input = try source(pcm)
        let output = try destination("out.opus")
        #expect(try await rewrite(input, to: output).writtenFrames == 24_000)
        #expect(try FFmpeg.decode(folder.path("out.opus")).frames == 144_000)
    }
}
