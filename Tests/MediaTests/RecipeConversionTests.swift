import Conversion
import Media
import TestSupport
import Testing

@Suite struct RecipeConversionTests {
    @Test func recipeIsCarriedOutAsWritten() throws {
        let clip = try Clip(
            Signal.sweep(from: 100, to: 3_000, rate: 8_000, frames: 24_000, channels: 2, amplitude: 0.5)
        )
        let outcome = try run(
            """
            {"version": 1, "verify": true, "tags": {"title": "A stretch"},
             "sources": [{"location": "clip.wav", "ranges": [{"from": "0:01", "to": "0:02.5"}]}],
             "outputs": [{"location": "out.flac", "preset": "archive-flac", "format": {"channelCount": 1}}]}
            """,
            from: clip.path,
            to: clip.folder.path("out.flac")
        )
        #expect(outcome.summary.writtenFrames == 12_000)
        #expect(outcome.format.channelCount == 1)
        #expect(outcome.verified?.frames == 12_000)
        #expect(try FFmpeg.probe(clip.folder.path("out.flac")).tags["title"] == "A stretch")
    }

    @Test(arguments: [("pcm", 24, "big", PCM.SampleFormat.s24), ("pcm", 8, "little", .u8)])
    func headerlessSourceIsReadAsTheRecipeDescribesIt(codec: String, bits: Int, order: String, format: PCM.SampleFormat)
        throws
    {
        let folder = try TemporaryFolder.create()
        let pcm = Signal.noise(seed: 2, rate: 16_000, frames: 5_000, channels: 2).pcm(format)
        var bytes = pcm.bytes
        if order == "big" {
            let width = bits / 8
            bytes = stride(from: 0, to: bytes.count, by: width).flatMap { bytes[$0..<($0 + width)].reversed() }
        }
        try Bytes.write(bytes, to: folder.path("source.raw"))
        let recipe = """
            {"version": 1,
             "sources": [{"location": "source.raw", "raw": {"codec": "\(codec)", "sampleRateHz": 16000, "channelCount": 2,
                          "bitDepth": \(bits), "sampleKind": "integer", "endianness": "\(order)"}}],
             "outputs": [{"location": "out.wav"}]}
            """
        let outcome = try run(recipe, from: folder.path("source.raw"), to: folder.path("out.wav"))
        #expect(outcome.summary.writtenFrames == 5_000)
        #expect(try WAVFile.read(path: folder.path("out.wav")) == pcm)
    }

    private func run(_ json: String, from source: String, to destination: String) throws -> Converter.Outcome {
        let input = try OpenFile.reading(source)
        let output = try OpenFile.creating(destination)
        return try Converter(.init(Recipe(json: json))).run(from: input.descriptor, to: output.descriptor)
    }
}
