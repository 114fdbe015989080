import Conversion
import Foundation
import Testing

@Suite struct MediaTimeTextTests {
    // MARK: Reading

    @Test(arguments: [
        ("5:00", "300/1"),
        ("1:02:03.5", "37235/10"),
        ("90s", "90/1"),
        ("1500ms", "1500/1000"),
        ("90", "90/1"),
        ("12.25", "1225/100"),
        ("12.25s", "1225/100"),
        ("0.5ms", "5/10000"),
        ("7ms", "7/1000"),
        ("44100/44100", "44100/44100"),
        ("1/3~", "1/3~"),
        ("-0:30", "-30/1"),
        ("-1/48000", "-1/48000"),
        ("-0", "0/1"),
        ("0:03.250", "3250/1000"),
        ("90:00", "5400/1"),
        ("100:00:00", "360000/1"),
        ("01:02:03", "3723/1"),
        ("5:7", "307/1"),
        ("9223372036854775807", "9223372036854775807/1"),
        ("-9223372036854775808", "-9223372036854775808/1"),
        ("-9223372036854775808/2147483647", "-9223372036854775808/2147483647"),
    ])
    func timesAreReadExactly(text: String, rational: String) throws {
        #expect(try MediaTime(parsing: text).rationalDescription == rational)
    }

    @Test(arguments: [
        ("0.123456789", "123456789/1000000000"),
        ("0.1234567890000", "123456789/1000000000"),
        ("0.1234567894", "123456789/1000000000~"),
        ("0.1234567895", "123456790/1000000000~"),
        ("-0.9999999999", "-1000000000/1000000000~"),
        ("0.0000001ms", "0/1000000000~"),
        ("4611686018427387903.5", "9223372036854775807/2"),
        ("9223372036854775806.7", "9223372036854775807/1~"),
    ])
    func decimalsThatDoNotFitAreRoundedAndMarked(text: String, rational: String) throws {
        #expect(try MediaTime(parsing: text).rationalDescription == rational)
    }

    @Test(arguments: [
        ("", MediaTime.ParsingError.Code.empty),
        ("-", .malformed), ("--5", .malformed), ("+5", .malformed), (" 5", .malformed), ("5 ", .malformed),
        ("abc", .malformed), ("nan", .malformed), ("NaN", .malformed), ("inf", .malformed),
        ("+infinity", .malformed), ("indefinite", .malformed), ("invalid", .malformed),
        ("s", .malformed), ("ms", .malformed), ("5m", .malformed), ("5:00s", .malformed), ("1/2s", .malformed),
        (":", .malformed), ("5:", .malformed), (":30", .malformed), ("1::3", .malformed), ("1:2:3:4", .malformed),
        ("1:005", .malformed), (".5", .malformed), ("5.", .malformed), ("1.2.3", .malformed), ("1.5:00", .malformed),
        ("1:-5", .malformed), ("1e3", .malformed), ("0x10", .malformed), ("1,5", .malformed), ("٣", .malformed),
        ("/", .malformed), ("1/", .malformed), ("/2", .malformed), ("1/-2", .malformed), ("1/2/3", .malformed),
        ("1.5/2", .malformed), ("1/~", .malformed), ("5:00~", .malformed), ("1/2~~", .malformed),
        ("1:60:00", .fieldTooLarge), ("0:60", .fieldTooLarge), ("1:00:60", .fieldTooLarge), ("0:99.5", .fieldTooLarge),
        ("1/0", .zeroTimescale), ("-0/0", .zeroTimescale),
        ("9223372036854775808", .outOfRange), ("9223372036854775807.5", .outOfRange),
        ("99999999999999999999999999999999999999999999", .outOfRange), ("9223372036854775808/1", .outOfRange),
        ("1/2147483648", .outOfRange), ("18446744073709551615:00:00", .outOfRange),
    ])
    func whatIsNotATimeIsRefused(text: String, code: MediaTime.ParsingError.Code) {
        let error = #expect(throws: MediaTime.ParsingError.self) { try MediaTime(parsing: text) }
        #expect(error?.code == code)
        #expect(error?.description.contains(MediaTime.ParsingError.allowedForms) == true)
    }

    @Test func refusalQuotesAndCutsTheText() {
        let hostile = "5\n" + String(repeating: "9", count: 10_000)
        let error = #expect(throws: MediaTime.ParsingError.self) { try MediaTime(parsing: hostile) }
        #expect(error?.text.count == 64)
        #expect(error?.description.hasPrefix(#""5\n999"#) == true)
    }

    @Test func partOfATextIsReadLikeAWhole() throws {
        let text = "from 1:30 to 2:00"
        #expect(try MediaTime(parsing: text.dropFirst(5).prefix(4)) == MediaTime(value: 90, timescale: 1))
    }

    // MARK: Writing

    @Test(arguments: [
        (MediaTime.zero, "0:00"),
        (MediaTime(value: 13, timescale: 4), "0:03.25"),
        (MediaTime(value: 300, timescale: 1), "5:00"),
        (MediaTime(value: 7447, timescale: 2), "1:02:03.5"),
        (MediaTime(value: -59, timescale: 1), "-0:59"),
        (MediaTime(value: 3_599_999_999_999, timescale: 1_000_000_000), "59:59.999999999"),
        (MediaTime(value: 1, timescale: 3), "0:00.333333333"),
        (MediaTime(value: -2, timescale: 3), "-0:00.666666667"),
        (MediaTime(value: -1, timescale: .max), "0:00"),
        (MediaTime(value: Int64(Int32.max) * 60 - 1, timescale: .max), "1:00"),
        (MediaTime(value: .min, timescale: 1), "-2562047788015215:30:08"),
        (.positiveInfinity, "+infinity"),
        (.negativeInfinity, "-infinity"),
        (.indefinite, "indefinite"),
        (.invalid, "invalid"),
    ])
    func timesAreWrittenForPeople(time: MediaTime, text: String) {
        #expect(time.description == text)
    }

    @Test func humanTextReadsBackWhenItHasNineDecimalsOrFewer() {
        var generator = SeededGenerator(seed: 9)
        var failures = Counterexamples()
        let scales: [Int32] = [1, 2, 8, 40, 1000, 62_500, 64_000, 1_000_000_000]
        for _ in 0..<5_000 {
            let time = MediaTime(
                value: generator.integer(),
                timescale: scales[Int(generator.below(UInt64(scales.count)))]
            )
            let read = try? MediaTime(parsing: time.description)  // a refusal gives nil, which fails the comparison
            failures.expect(read == time && read?.hasBeenRounded == false, time.rationalDescription)
        }
        #expect(failures.count == 0, "\(failures.first)")
    }

    @Test func humanTextIsWithinHalfABillionth() throws {
        var generator = SeededGenerator(seed: 10)
        var failures = Counterexamples()
        for _ in 0..<5_000 {
            let time = MediaTime(value: generator.integer() >> 31, timescale: generator.timescale())
            let read = try MediaTime(parsing: time.description)
            // |read - time| <= 1 / 2_000_000_000, in integers: 2^35 * 2^31 * 2^31 fits easily.
            let error =
                Int128(read.value) * Int128(time.timescale) - Int128(time.value) * Int128(read.timescale)
            let bound = Int128(read.timescale) * Int128(time.timescale)
            failures.expect(error.magnitude * 2_000_000_000 <= bound.magnitude, time.rationalDescription)
        }
        #expect(failures.count == 0, "\(failures.first)")
    }

    @Test func rationalTextLosesNothing() throws {
        var generator = SeededGenerator(seed: 11)
        var failures = Counterexamples()
        for _ in 0..<10_000 {
            let time = generator.time()
            let read = try MediaTime(rationalDescription: time.rationalDescription)
            let isSame = read.value == time.value && read.timescale == time.timescale && read.flags == time.flags
            failures.expect(isSame, time.rationalDescription)
        }
        #expect(failures.count == 0, "\(failures.first)")
    }

    // MARK: Coding

    @Test func timesAreCodedAsLosslessStrings() throws {
        let times: [MediaTime] = [
            MediaTime(value: 441_000, timescale: 44100), MediaTime(value: 333, timescale: 1000, hasBeenRounded: true),
            .positiveInfinity, .negativeInfinity, .indefinite, .invalid,
        ]
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        let json = try encoder.encode(times)
        let expected = #"["441000/44100","333/1000~","+infinity","-infinity","indefinite","invalid"]"#
        #expect(String(decoding: json, as: UTF8.self) == expected)
        let read = try JSONDecoder().decode([MediaTime].self, from: json)
        #expect(read.map(\.rationalDescription) == times.map(\.rationalDescription))
    }

    @Test func humanFormsAreDecodedToo() throws {
        let read = try JSONDecoder().decode([MediaTime].self, from: Data(#"["5:00","1500ms"]"#.utf8))
        #expect(read == [MediaTime(value: 300, timescale: 1), MediaTime(value: 3, timescale: 2)])
    }

    @Test(arguments: [#"["5:60"]"#, #"["1/0"]"#, #"["nan"]"#, #"[90]"#, #"[1.5]"#, #"[null]"#])
    func decodingRefusesWhatIsNotATime(json: String) {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([MediaTime].self, from: Data(json.utf8))
        }
    }
}
