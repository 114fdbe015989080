import Conversion
import Testing

/// Malicious recipes. Anyone who may submit jobs can write one, and every worker reads it.
@Suite struct HostileRecipeTests {
    private static let whole = """
        {"version":3,"damage":"conceal","verify":true,"strictLoss":true,"tags":{"title":"It"},"sources":[{"location":"in:a.raw","track":1,\
        "ranges":[{"from":"0:10","to":"1:00"},{"from":"441/44100"}],"raw":{"sampleRateHz":48000,"channelCount":2,"bitDepth":24,\
        "endianness":"big"}}],"outputs":[{"location":"out:a.mp3","preset":"mp3-v0","onConflict":"replace","format":{"container":"mp3",\
        "codec":"mp3","sampleRateHz":44100,"channelCount":2,"bitDepth":16,"bitRate":128000,"quality":0.5},"tags":{"track":"1/2"}}],"limits":{\
        "outputBytes":1000000,"decodedSeconds":3600,"expansionRatio":1.5,"cpuSeconds":60,"wallSeconds":60,"stallSeconds":5,\
        "concealSeconds":600,"openSeconds":10}}
        """

    private static let numbers = [
        "0", "-1", "1", "32768", "2147483647", "2147483648", "4294967295", "9007199254740993", "9223372036854775807",
        "9223372036854775808", "-9223372036854775808", "18446744073709551615", "1e308", "-1e308", "1e999", "0.1", "-0",
    ]
    private static let times = [
        "9223372036854775807", "9223372036854775807/1", "1/9223372036854775807", "-9223372036854775808", "1/0",
        "0:99:99",
        "2562047788015215:30:07", "1e9", "", "/", ":",
    ]

    /// If a recipe is read at all, it can be validated and written, and reads back unchanged. Each `try?` accepts
    /// a refusal: only a trap or a changed recipe is a defect.
    private func expectAnAnswer(_ json: String) throws {
        guard let recipe = try? Recipe(json: json) else { return }
        _ = try? recipe.validate()
        for output in recipe.outputs { _ = try? output.codec }
        for range in recipe.sources.flatMap(\.ranges) { _ = (range.duration, range.isOpenEnded) }
        guard let written = try? recipe.json() else { return }
        #expect(try Recipe(json: written) == recipe, "\(json)")
    }

    @Test func theRecipeThatIsChangedIsOne() throws { try Recipe(json: Self.whole).validate() }

    @Test func numbersAndTimesAtTheirEndsAreReadOrRefused() throws {
        for number in Self.whole.matches(of: /:(-?[0-9][0-9.]*)/) {
            for end in Self.numbers {
                var text = Self.whole
                text.replaceSubrange(number.output.1.startIndex..<number.output.1.endIndex, with: end)
                try expectAnAnswer(text)
            }
        }
        for time in ["0:10", "1:00", "441/44100"] {
            for end in Self.times { try expectAnAnswer(Self.whole.replacing(time, with: end)) }
        }
    }

    @Test func brokenTextIsReadOrRefused() throws {
        var generator = SeededGenerator(seed: 14)
        let whole = Array(Self.whole.utf8)
        for _ in 0..<3_000 {
            var bytes = whole
            for _ in 0...generator.below(3) {
                let place = Int(generator.below(UInt64(bytes.count)))
                switch generator.below(3) {
                case 0: bytes[place] = UInt8(truncatingIfNeeded: generator.next())
                case 1: bytes.remove(at: place)
                default:
                    let end = min(bytes.count, place + Int(generator.below(40)))
                    bytes.insert(contentsOf: bytes[place..<end], at: Int(generator.below(UInt64(bytes.count))))
                }
            }
            try expectAnAnswer(String(decoding: bytes, as: UTF8.self))
        }
    }

    @Test(arguments: ["[", "{\"a\":", "{\"version\":1,\"sources\":["]) func noDepthEndsTheProcess(text: String) {
        let deep = String(repeating: text, count: 100_000)
        #expect(throws: RecipeError.self) { try Recipe(json: deep) }
        #expect(throws: RecipeError.self) { try Recipe(json: Self.whole.replacing("\"It\"", with: deep)) }
    }
}
