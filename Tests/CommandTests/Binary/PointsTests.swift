import Foundation
import TestSupport
import Testing

/// `sluice probe --points`: where something changes in a file, for people and for other programs.
struct PointsTests {
    let material: Material

    /// `cues.wav`: a second of silence, two of sound with a cue point and a clipped run, and a second of silence.
    init() throws {
        material = try Material()
        var samples = [Double](repeating: 0, count: 32_000)
        for frame in 8_000..<24_000 {
            let (sign, rest): (Double, Double) = (frame % 2 == 0 ? 1 : -1, Double(frame % 97))
            samples[frame] = sign * (0.1 + 0.0001 * rest)
        }
        for frame in 12_000..<12_003 { samples[frame] = 1 }
        var bytes = try WAVFile.bytes(Signal(rate: 8_000, channels: [samples]).pcm(.s16))
        let parts: [[UInt8]] = [
            Array("cue ".utf8), Self.little([28, 1, 1, 16_001]), Array("data".utf8), Self.little([0, 0, 16_001]),
            Array("LIST".utf8), Self.little([24]), Array("adtllabl".utf8), Self.little([12, 1]),
            Array("a, \"b\"\u{1B}\0".utf8),
        ]
        bytes += parts.joined()
        bytes.replaceSubrange(4..<8, with: Self.little([bytes.count - 8]))
        try Bytes.write(bytes, to: material.path("cues.wav"))
    }

    private static func little(_ numbers: [Int]) -> [UInt8] {
        var bytes: [UInt8] = []
        for number in numbers { bytes.append(little: UInt32(number)) }
        return bytes
    }

    private func run(_ words: String...) throws -> Run { try Sluice.run(words, in: material.folder) }

    @Test func tableHasAllPoints() throws {
        let run = try run("probe", "--points", "cues.wav")
        #expect(run.succeeded, "\(run.errorText)")
        let lines = run.outputText.split(separator: "\n").map { line in
            line.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
        }
        let start = try #require(lines.firstIndex { $0.hasPrefix("TIME FRAME KIND") })
        let expected = [
            "0:00.000 0 silence 0:01.000 all", "0:01.000 8,000 sound start all",
            "0:01.500 12,000 clipping 3 frames 1 3 samples", "0:02.000 16,001 cue all a, \"b\"\\u{1b}",
            "0:03.000 24,000 sound end all", "0:03.000 24,000 silence 0:01.000 all",
        ]
        #expect(lines[(start + 1)...].map { $0 } == expected)
    }

    @Test func lineOfJSONIsStable() throws {
        let all = try run("probe", "--points", "--json", "cues.wav").checked().outputText
        let times = ["--point-before", "2", "--point-after", "2"]
        let next = try Sluice.run(["probe", "--points", "--json", "cues.wav"] + times, in: material.folder).checked()
        try Golden.expect(all + next.outputText, is: "points.jsonl")
    }

    @Test func lineOfJSONHasThemByName() throws {
        let text = try run("probe", "--points", "--json", "cues.wav").checked().outputText
        #expect(text.contains("\"points\":{\"found\":{},\"frames\":32000,\"outside\":0,\"points\":["))
        let cue =
            "{\"channels\":[],\"frame\":16001,\"frames\":0,\"isRounded\":false,\"kind\":\"cue\","
            + "\"text\":\"a, \\\"b\\\"\\\\u{1b}\"}"
        #expect(text.contains(cue), "\(text)")
        #expect(text.contains("\"kind\":\"clipping\",\"value\":3}"))
        #expect(!text.contains("\"places\""))
    }

    @Test func nextAndPreviousPlaceAreFoundInOneReading() throws {
        let text = try run("probe", "--points", "--point-before", "2", "--point-after", "2", "cues.wav").checked()
            .outputText
        let lines = text.split(separator: "\n").suffix(2).map(String.init)
        #expect(
            lines == [
                "before: 0:01.500 (frame 12,003) end of clipping in channel 1: 3 samples",
                "after: 0:02.000 (frame 16,001) cue: a, \"b\"\\u{1b}",
            ]
        )
        let none = try run("probe", "--points", "--point-after", "4", "cues.wav").checked().outputText
        #expect(none.hasSuffix("\nafter: nothing\n"))
        let json = try run("probe", "--points", "--point-after", "2", "--json", "cues.wav").checked().outputText
        #expect(json.contains("\"places\":{\"after\":[{\"frame\":16001,\"isEnd\":false,\"point\":{"), "\(json)")
        let first = try run("probe", "--points", "--point-before", "0", "--json", "cues.wav").checked().outputText
        #expect(first.contains("\"places\":{\"before\":[]}"), "\(first)")
    }

    @Test func placeShowsAllThatBeginsAndEndsThere() throws {
        let text = try run("probe", "--points", "--point-after", "2.5", "cues.wav").checked().outputText
        let lines = text.split(separator: "\n").suffix(2).map(String.init)
        #expect(
            lines == ["after: 0:03.000 (frame 24,000) sound end", "after: 0:03.000 (frame 24,000) silence"]
        )
    }

    @Test func columnsAreQuoted() throws {
        let text = try run("probe", "--points", "--points-format", "csv", "cues.wav").checked().outputText
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines.count == 7 && lines[0] == "source,kind,seconds,frame,frames,rate,channels,text,value")
        #expect(lines[3] == "cues.wav,clipping,1.500000000,12000,3,8000,1,,3.0")
        #expect(lines[4] == "cues.wav,cue,2.000125000,16001,0,8000,,\"a, \"\"b\"\"\\u{1b}\",")
    }

    @Test func labelsAreThoseOfAudacity() throws {
        let text = try run("probe", "--points", "--points-format", "audacity", "cues.wav").checked().outputText
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines.count == 6)
        #expect(lines[0] == "0.000000\t1.000000\tsilence")
        #expect(lines[2] == "1.500000\t1.500375\tclipping in channel 1: 3 samples")
        #expect(lines[3] == "2.000125\t2.000125\tcue: a, \"b\"\\u{1b}")
    }

    @Test func autoDJGetsWhatItNeeds() throws {
        let text = try run("probe", "--points", "--points-format", "liquidsoap", "cues.wav").checked().outputText
        let start = "annotate:liq_cue_in=\"1.000000\",liq_cue_out=\"3.000000\",liq_cross_duration=\"0.100\","
        #expect(text.hasPrefix(start), "\(text)")
        #expect(text.contains(" LUFS\"") && text.hasSuffix(":cues.wav\n"))
        try FileManager.default.copyItem(atPath: material.path("cues.wav"), toPath: material.path("two\nlines.wav"))
        let odd = try run("probe", "--points", "--points-format", "liquidsoap", "two\nlines.wav")
        #expect(odd.succeeded && odd.outputText.isEmpty && odd.errorText.contains("two\\u{a}lines.wav"))
        try WAVFile.write(Signal.silence(rate: 8_000, frames: 8_000).pcm(.s16), to: material.path("silent.wav"))
        let silent = try run("probe", "--points", "--points-format", "liquidsoap", "silent.wav")
        #expect(silent.succeeded && silent.outputText.isEmpty && silent.errorText.contains("silent.wav is silent"))
    }

    @Test func silenceIsWhatTheUserSays() throws {
        let words = ["probe", "--points", "--points-silence", "-60dB/1.5s", "cues.wav"]
        let text = try Sluice.run(words, in: material.folder).checked().outputText
        #expect(!text.contains("silence") && text.contains("sound start"))
    }

    @Test func theirPlacesStandBelowThePicture() throws {
        let run = try Sluice.run(
            ["probe", "--points", "--picture", "cues.wav"],
            in: material.folder,
            environment: ["LC_ALL": "C", "COLUMNS": "55"]
        )
        let lines = try run.checked().outputText.split(separator: "\n").map(String.init)
        // Forty columns of a tenth of a second.
        let place = try #require(lines.firstIndex(of: "  points      #---------#----#----#---------#---------"))
        #expect(lines[place + 1].hasPrefix("              +---"))
        #expect(lines.contains { $0.contains("sound start") })
    }

    private static let mistakes: [(words: [String], text: String)] = [
        (["--points-format", "csv"], "--points-format needs --points"),
        (["--point-after", "2"], "--point-after needs --points"),
        (["--points", "--points-format", "csv", "--json"], "--json and --points-format exclude each other"),
        (
            ["--points", "--points-format", "csv", "--picture"],
            "--picture and --points-format csv exclude each other"
        ),
        (
            ["--points", "--points-format", "csv", "--point-after", "2"],
            "--point-after and --points-format csv exclude each other"
        ),
        (["--points", "--points-silence", "-60dB/1s/start"], "--points-silence needs a level and a length above 0"),
        (["--points", "--points-silence", "-60dB/0s"], "--points-silence needs a level and a length above 0"),
        (["--points", "--points-format", "audacity", "talk.wav"], "takes one file"),
        (["--points", "--points-format", "json"], "allowed: table, csv, audacity, liquidsoap"),
    ]

    @Test(arguments: mistakes) func wrongCombinationsAreUsageErrors(words: [String], text: String) throws {
        let run = try Sluice.run(["probe", "cues.wav"] + words, in: material.folder)
        #expect(run.status == .exited(2))
        #expect(run.errorText.contains(text), "\(run.errorText)")
    }
}
