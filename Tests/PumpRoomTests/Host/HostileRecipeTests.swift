import Conversion
import Foundation
import TestSupport
import Testing

@testable import PumpRoom

/// Malicious recipes with a timeline, in locked rooms: each is refused with its place, fails or is converted. None ends
/// its room or keeps it busy.
@Suite(.timeLimit(.minutes(15))) struct HostileRecipeTests {
    private let bench: SlotBench

    init() throws { bench = try SlotBench() }

    /// Two sources of half a second, with most fields of a timeline.
    private static let whole = """
        {"version":2,"sources":[{"location":"a.wav","name":"a"},{"location":"b.wav","name":"b"}],"outputs":[\
        {"location":"out.flac","replayGain":"track","loudness":{"target":"-20LUFS","truePeak":"-1dBTP"}}],"timeline":{\
        "sampleRateHz":8000,"layout":"mono","padTo":"1","limit":"-1dB","tracks":[{"gain":"-1.5dB","start":"1/10","ramps":[\
        {"from":"1/10","to":"1/5","fromGain":"0dB","toGain":"-6dB","curve":"decibel"}],"pieces":[{"source":"a","from":"1/10",\
        "to":"2/5","channels":"left","fadeIn":"1/10","fadeOut":{"length":"1/10","curve":"equalPower"}},{"silence":"1/4"},\
        {"source":"b","from":"1/3","reverse":true,"repeat":3,"trimSilence":"-60dB/0.1","crossfade":"1/20"},{"track":"c",\
        "crossfade":{"length":"1/20","curve":"linear"},"repeatUntil":"1/2"}]},{"name":"c","pieces":[{"source":"b","to":"1/4"}]}\
        ]}}
        """

    private static let values = [
        "0", "-1", "1", "65", "2147483648", "9223372036854775807", "0.1", "null", "[]", "{}", "true", "\"a\"", "\"c\"",
        "\"9223372036854775807\"", "\"1/9223372036854775807\"", "\"1/2147483647\"", "\"+infinity\"", "\"indefinite\"",
        "\"-inf\"", "\"60dB\"", "\"-144dB\"", "\"swap\"", "\"0:00.2\"", "\"10\"", "\"1000:00:00\"", "\"5.1\"", "[2,1]",
        "\"-0.001dB/1/8000\"", "\"-50LUFS\"", "1000000", "192000",
    ]

    private static func mutation(_ generator: inout SeededGenerator) -> String {
        var text = whole
        for _ in 0...Int.random(in: 0...1, using: &generator) {
            let places = text.matches(of: /:(-?[0-9][0-9.]*|"[^"]*"|true)/).map { $0.output.1 }
            let place = places[Int.random(in: places.indices, using: &generator)]
            let value = values[Int.random(in: values.indices, using: &generator)]
            text.replaceSubrange(place.startIndex..<place.endIndex, with: value)
        }
        return text
    }

    @Test func mutationsAreRefusedOrConvertedInALockedRoom() async throws {
        let slot = bench.slot { $0.sandbox = .require }
        var generator = SeededGenerator(seed: 1_811)
        var counts = (unread: 0, refused: 0, failed: 0, converted: 0)
        let whole = try Recipe(json: Self.whole)
        try whole.validate()
        for number in 0..<300 {
            let text = number == 0 ? Self.whole : Self.mutation(&generator)
            var recipe: Recipe
            do throws(RecipeError) {
                recipe = try Recipe(json: text)
                // The room gets it as JSON. It is not validated here: a room does that again.
                _ = try recipe.json()
            } catch {
                try #require(error.path.hasPrefix("recipe"), "\(text)")
                counts.unread += 1
                continue
            }
            recipe.limits = .init(outputBytes: 1 << 22, decodedSeconds: 30, cpuSeconds: 5)
            let sources = recipe.sources.map { _ in open(bench.clip, O_RDONLY | O_CLOEXEC) }
            defer { for source in sources { close(source) } }
            try #require(sources.allSatisfy { $0 >= 0 })
            let destination = try OpenFile.creating(bench.folder.path("out-\(number).flac"))
            let work = RoomWork(recipe, from: sources, to: destination.descriptor)
            switch await slot.run(work, report: { _ in }) {
            case .done: counts.converted += 1
            case .handedBack: Issue.record("handed back: \(text)")
            case .failed(let failure):
                #expect(!failure.isRoomDeath && !failure.failure.message.isEmpty, "\(failure) of \(text)")
                if failure.failure.message.hasPrefix("recipe.") { counts.refused += 1 } else { counts.failed += 1 }
            }
        }
        await slot.close()
        #expect(counts.unread > 20 && counts.refused > 20 && counts.converted > 5, "\(counts)")
    }
}
