import Foundation
import TestSupport
import Testing

/// `sluice probe --picture` draws the waveform and the loudness in the width of the terminal.
struct ProbePictureTests {
    private let folder: TemporaryFolder

    /// `half.wav`: half a second of a tone, and half a second of silence.
    init() throws {
        folder = try TemporaryFolder.create()
        let tone = Signal.tone(1_000, rate: 48_000, frames: 24_000, amplitude: 0.99)
        let silence = Signal.tone(1_000, rate: 48_000, frames: 24_000, amplitude: 0)
        try WAVFile.write(tone.followed(by: silence).pcm(.s16), to: folder.path("half.wav"))
    }

    /// The lines of the picture, each without the columns of the labels.
    private func picture(_ environment: [String: String], columns: Int = 55) throws -> [String] {
        let run = try Sluice.run(
            ["probe", "--picture", "half.wav"],
            in: folder,
            environment: environment.merging(["COLUMNS": "\(columns)"]) { $1 }
        )
        let lines = try run.checked().outputText.split(separator: "\n").map(String.init)
        let start = try #require(lines.firstIndex { $0.hasPrefix("  waveform    ") })
        let drawn = lines[start..<start + 11]
        #expect(drawn.allSatisfy { $0.count <= columns })
        return drawn.map { String($0.dropFirst(14)) }
    }

    @Test func theSoundIsWhereItIsHeard() throws {
        let lines = try picture(["LC_ALL": "C"])
        let half = String(repeating: "#", count: 20)
        // The tone fills all rows, and the silence is a line in the middle.
        #expect(lines[..<6] == [half, half, half, half + half, half, half])
        // The momentary loudness, 3 dB below full scale, falls for 0.4 s after the end of the tone.
        for line in lines[6..<9] {
            #expect(line.allSatisfy { $0 == "#" } && (34...37).contains(line.count), "\(line)")
        }
        #expect(lines[9].hasPrefix("+---") && lines[10].hasPrefix("0:00"))
        #expect(lines.allSatisfy { $0.utf8.allSatisfy { $0 < 0x80 } })
    }

    @Test func brailleHasTwoColumnsInACharacter() throws {
        let lines = try picture([:])
        #expect(lines[0] == String(repeating: "⣿", count: 20) + String(repeating: "\u{2800}", count: 20))
        #expect(lines[9].hasPrefix("├───"))
        #expect(try picture(["TERM": "linux"])[0] == String(repeating: "█", count: 20))
        #expect(try picture([:], columns: 80)[0].count == 65)
        // Lines still fit where there is room for nothing else.
        #expect(try picture([:], columns: 24)[0].count == 9)
    }

    @Test func programsGetTheFigures() throws {
        let run = try Sluice.run(["probe", "--picture", "--json", "half.wav"], in: folder).checked()
        let record = try #require(try JSONSerialization.jsonObject(with: run.stdout) as? [String: Any])
        let description = try #require(record["description"] as? [String: Any])
        let outline = try #require(description["outline"] as? [String: Any])
        #expect(outline["secondsPerPart"] as? Double == 0.01)
        let (lowest, highest) = (outline["lowest"] as? [Double] ?? [], outline["highest"] as? [Double] ?? [])
        #expect(lowest.count == 100 && highest.count == 100)
        let isTone = highest[..<50].allSatisfy { sample in abs(sample - 0.99) < 0.001 }
        let isSilence = highest[50...].allSatisfy { sample in sample == 0 }
        #expect(isTone && isSilence)
        #expect((outline["momentaryLUFS"] as? [Any])?.count == 100)
        // It was not asked for.
        #expect(description["loudness"] == nil && description["scan"] != nil)
    }
}
