import Conversion
import Testing

@testable import Command
@testable import Console

/// The values that options accept, and the messages for the values that they refuse.
struct ValueTypeTests {
    private func why<Value>(_ type: ValueType<Value>, _ text: String) -> String? {
        do {
            _ = try type.read(text)
            return nil
        } catch {
            return error.why
        }
    }

    @Test(arguments: [("44100", 44_100), ("44.1k", 44_100), ("48K", 48_000), ("11.025k", 11_025), ("1", 1)])
    func thousandsAreRead(text: String, number: Int) throws {
        #expect(try ValueType<Int>.thousands(in: 1...100_000, example: "1k").read(text) == number)
    }

    @Test(arguments: [
        "", "k", ".", "1.", ".5k", "44.1", "1.2345k", "-1", "+1", "1e3", "٣", "0", "100001", "1k k", " 1",
        "99999999999999999999",
    ])
    func whatIsNoNumberOfThousandsIsRefused(text: String) {
        #expect(why(ValueType<Int>.thousands(in: 1...100_000, example: "1k"), text) != nil)
    }

    @Test func rawShapesAreRead() throws {
        let type = ValueType<Recipe.RawDescription>.rawDescription
        #expect(
            try type.read("s24be:48000:2")
                == .init(sampleRateHz: 48_000, channelCount: 2, bitDepth: 24, sampleKind: .integer, endianness: .big)
        )
        #expect(try type.read("ulaw:8000:1") == .init(codec: .ulaw, sampleRateHz: 8000, channelCount: 1))
        #expect(try type.read("u8:8000:1").bitDepth == 8)
        #expect(try type.read("f64le:8000:1").sampleKind == .float)
        for text in [
            "", "s16le", "s16le:48000", "s16le:0:2", "s16le:48000:0", "s16le:48000:2:1", "s15le:48000:2",
            "f16le:48000:2", "s16:48000:2", "pcm:48000:2",
        ] {
            #expect(why(type, text) != nil, "\(text)")
        }
    }

    @Test func tagNeedsANameAndASign() throws {
        #expect(try ValueType<TagWish>.tag.read("artist=A=B").value(for: "x.wav") == "A=B")
        #expect(why(.tag as ValueType<TagWish>, "artist") == "must be NAME=VALUE")
        #expect(why(.tag as ValueType<TagWish>, "=x") == "must be NAME=VALUE")
    }

    @Test func tagTakesFieldsOfItsSource() throws {
        let wish = try ValueType<TagWish>.tag.read("title={dir} - {stem} ({source-ext}) {{x}}")
        #expect(wish.hasFields && wish.value(for: "a/b/talk.one.wav") == "a/b - talk.one (wav) {x}")
        #expect(wish.value(for: "talk") == " - talk () {x}")
        #expect(
            why(.tag as ValueType<TagWish>, "title={n}")?.contains("unknown field {n}; known: {dir} {stem}") == true
        )
        #expect(why(.tag as ValueType<TagWish>, "title={") != nil)
    }

    @Test func numbersAreFinite() throws {
        #expect(try ValueType<Double>.number.read("-1.5") == -1.5)
        for text in ["nan", "inf", "1e999", "", "x", "1,5"] { #expect(why(.number, text) != nil, "\(text)") }
    }

    @Test func presetSuggestsTheNearest() {
        func why(_ name: String, _ files: [String] = []) -> String {
            Misfit.noPreset(PresetReference(name: name), files).why
        }
        #expect(why("mp3-v00") == "is not a preset; did you mean \"mp3-v0\"?")
        #expect(why("podcast") == "is not a preset; did you mean \"podcast-mp3\"?")
        #expect(why("hous", ["house"]) == "is not a preset; did you mean \"house\"?")
        #expect(why("zzzzzzzzzz") == "is not a preset")
        // What no preset can be called is refused at once, and the rest when it is looked up.
        let type = ValueType<PresetReference>.preset
        #expect(throws: Misfit.self) { try type.read("a/b") }
        #expect(throws: Misfit.self) { try type.read("house@0") }
        #expect(throws: Never.self) { try type.read("house@3") }
    }
}
