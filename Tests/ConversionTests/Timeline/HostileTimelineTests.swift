import Conversion
import Testing

/// Malicious recipes with a timeline. Anyone who may submit jobs can write one, and every worker reads it.
@Suite struct HostileTimelineTests {
    private static let ends = [
        "0", "-1", "1", "65", "2147483648", "9007199254740993", "9223372036854775807", "9223372036854775808",
        "-9223372036854775808", "1e308", "-1e308", "1e999", "0.1", "-0", "null", "\"\"", "[]", "{}", "true",
        "\"9223372036854775807\"", "\"9223372036854775807/1\"", "\"1/9223372036854775807\"", "\"1/2147483647\"",
        "\"-9223372036854775808\"", "\"1/0\"", "\"+infinity\"", "\"-infinity\"", "\"indefinite\"", "\"invalid\"",
        "\"-inf\"", "\"60dB\"", "\"1e999dB\"", "\"bed\"", "\"voice\"", "\"swap\"", "\"decibel\"",
    ]

    /// If a recipe is read at all, it can be checked, laid out and written, and reads back unchanged. A refusal names
    /// a place in the recipe; only a trap or a changed recipe is a defect.
    private func expectAnAnswer(_ json: String, _ counts: inout (read: Int, valid: Int)) throws {
        let recipe: Recipe
        do throws(RecipeError) {
            recipe = try Recipe(json: json)
        } catch {
            try #require(error.path.hasPrefix("recipe"), "\(json)")
            return
        }
        counts.read += 1
        do throws(RecipeError) {
            try recipe.validate()
            counts.valid += 1
        } catch {
            try #require(error.path.hasPrefix("recipe.") && !error.reason.isEmpty, "\(json)")
        }
        if let timeline = recipe.timeline {
            let lengths = [
                "voice": MediaTime(value: .max, timescale: 1), "music": MediaTime(value: 1, timescale: .max),
            ]
            _ = TimelineSchedule(timeline, sourceLengths: lengths).length
            // `try?`: a refusal is a valid answer.
            _ = try? recipe.validate(sourceLengths: lengths)
            var edited = timeline
            _ = try? edited.insertSilence(.init(value: 1, timescale: 3), at: .init(value: 9, timescale: 2), inTrack: 0)
            _ = try? edited.remove(.whole, fromTrack: 0, sourceLengths: lengths)
        }
        let written = try recipe.json()
        try #require(try Recipe(json: written) == recipe, "\(json)")
        try #require(try Recipe(json: written).json() == written, "\(json)")
    }

    @Test func eachValueAtItsEndsIsReadOrRefused() throws {
        var counts = (read: 0, valid: 0)
        let whole = TimelineMaterial.whole
        for value in whole.matches(of: /:(-?[0-9][0-9.]*|"[^"]*")/) {
            for end in Self.ends {
                var text = whole
                text.replaceSubrange(value.output.1.startIndex..<value.output.1.endIndex, with: end)
                try expectAnAnswer(text, &counts)
            }
        }
        #expect(counts.read > 300 && counts.valid > 50, "\(counts)")
    }

    @Test func tenThousandBrokenTextsAreReadOrRefused() throws {
        var generator = SeededGenerator(seed: 2018)
        var counts = (read: 0, valid: 0)
        let whole = Array(TimelineMaterial.whole.utf8)
        for _ in 0..<10_000 {
            var bytes = whole
            for _ in 0...generator.below(3) {
                let place = Int(generator.below(UInt64(bytes.count)))
                switch generator.below(4) {
                case 0: bytes[place] = UInt8(truncatingIfNeeded: generator.next())
                case 1: bytes.remove(at: place)
                case 2: bytes[place] = generator.pick(Array("0123456789\"{}[],:-.esdB".utf8))
                default:
                    let end = min(bytes.count, place + Int(generator.below(40)))
                    bytes.insert(contentsOf: bytes[place..<end], at: Int(generator.below(UInt64(bytes.count))))
                }
            }
            try expectAnAnswer(String(decoding: bytes, as: UTF8.self), &counts)
        }
        #expect(counts.read > 200 && counts.valid > 100, "\(counts)")
    }

    @Test func hugeTimelinesAreAnsweredInTime() throws {
        let second = MediaTime(value: 1, timescale: 1)
        // 100,000 tracks in one chain, and as many pieces that refer to one another's tracks.
        let chain = (0..<100_000).map { Timeline.Track(name: "t\($0)", pieces: [Piece(.track("t\($0 + 1)"))]) }
        #expect(TimelineSchedule(Timeline(tracks: chain)).length == nil)
        #expect(throws: RecipeError.self) { try TimelineMaterial.recipe(tracks: chain).validate() }
        let pieces = (0..<99_999).map { _ in Piece(.silence(second), crossfade: Fade(.init(value: 1, timescale: 3))) }
        try TimelineMaterial.recipe([Piece(.source("a"))] + pieces).validate()
    }

    @Test(arguments: ["[", "{\"a\":", "{\"tracks\":[{\"pieces\":["]) func noDepthEndsTheProcess(text: String) {
        let deep = String(repeating: text, count: 100_000)
        #expect(throws: RecipeError.self) {
            try Recipe(json: #"{"version":2,"sources":[],"outputs":[],"timeline":"# + deep)
        }
    }
}
