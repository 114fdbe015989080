import Conversion
import Testing

/// Silence at the ends of a piece, as users and recipes write it.
@Suite struct SilenceTrimTests {
    private func trim(_ decibels: Double, _ shortest: MediaTime, _ ends: SilenceTrim.Ends = .both) throws -> SilenceTrim
    {
        SilenceTrim(threshold: try #require(Gain(decibels: decibels)), shortest: shortest, ends: ends)
    }

    @Test func wordsAreReadAndWritten() throws {
        let half = MediaTime(value: 1, timescale: 2)
        for (text, value) in [
            ("-60dB/0:00.5", try trim(-60, half)), ("-60dB/0:00.5/start", try trim(-60, half, .start)),
            ("-54.5dB/0:00.5/end", try trim(-54.5, half, .end)),
        ] {
            #expect(try SilenceTrim(parsing: text) == value)
            #expect("\(value)" == text)
        }
        #expect(try SilenceTrim(parsing: "-60db/0.5s/both") == trim(-60, half))
        #expect(try SilenceTrim(parsing: "-60dB/0/end") == trim(-60, .zero, .end))
        #expect(try SilenceTrim(parsing: "-60dB/1:00/start").shortest == MediaTime(value: 60, timescale: 1))
        let exact = try trim(-60, MediaTime(value: 441, timescale: 44_101), .start)
        #expect(try SilenceTrim(parsing: "\(exact)") == exact)
    }

    @Test(arguments: [
        "", "-60dB", "-60dB/", "/1s", "-60dB/1s/middle", "60/1s", "-60dB/-1s", "0dB/1s", "+3dB/1s", "-inf/1s",
        "-200dB/1s", "-60dB/1s/start/end", "-60dB/2000:00:00",
    ])
    func othersAreRefused(text: String) {
        #expect(throws: EditTextError.self) { try SilenceTrim(parsing: text) }
    }

    private func recipe(piece: String) -> String {
        #"{"version":2,"sources":[{"location":"a.wav","name":"a"}],"outputs":[{"location":"b.wav"}],"#
            + #""timeline":{"tracks":[{"pieces":[\#(piece)]}]}}"#
    }

    @Test func recipesSayItInOneText() throws {
        let read = try Recipe(json: recipe(piece: #"{"source":"a","trimSilence":"-60dB/0.5s/end"}"#))
        try read.validate()
        let piece = try #require(read.timeline?.tracks[0].pieces[0])
        #expect(try piece.trimSilence == SilenceTrim(parsing: "-60dB/0.5/end"))
        #expect(try Recipe(json: read.json()) == read)
        // How long the piece is then, nothing tells.
        let lengths = ["a": MediaTime(value: 10, timescale: 1)]
        #expect(TimelineSchedule(try #require(read.timeline), sourceLengths: lengths).length == nil)
    }

    @Test func refusalsNameThePiece() throws {
        let path = "recipe.timeline.tracks[0].pieces[0].trimSilence"
        for (piece, reason) in [
            (#"{"source":"a","trimSilence":"-60dB"}"#, "not a silence"), (#"{"source":"a","trimSilence":5}"#, ""),
            (#"{"source":"a","trimSilence":"0dB/1s"}"#, "the threshold 0dB is not allowed"),
            (#"{"silence":"5s","trimSilence":"-60dB/1s"}"#, "only pieces of a source"),
        ] {
            let error = try #require(throws: RecipeError.self) { try Recipe(json: recipe(piece: piece)).validate() }
            #expect(error.path == path && error.reason.contains(reason), "\(error)")
        }
    }
}
