import Foundation
import TestSupport
import Testing

/// `convert --recipe` with outputs that are parts of the source, and failures of one of several outputs.
struct RecipePiecesTests {
    let material: Material
    private let talk = Material.talk

    init() throws { material = try Material() }

    private func convert(_ ranges: [String], _ more: String..., format: String = "") throws -> Run {
        let outputs = ranges.enumerated().map { index, range in
            #"{"location": "piece \#(index + 1).wav", "range": {\#(range)}\#(format)}"#
        }
        let recipe =
            #"{"version": 3, "sources": [{"location": "{source}"}], "outputs": [\#(outputs.joined(separator: ", "))]}"#
        try Bytes.write(Array(recipe.utf8), to: material.path("cut.json"))
        return try Sluice.run(["convert", "talk.wav", "--recipe", "cut.json"] + more, in: material.folder)
    }

    private func samples(_ number: Int) throws -> PCM { try WAVFile.read(path: material.path("piece \(number).wav")) }

    @Test func rangesOfOutputsAreCut() throws {
        let run = try convert([#""to": "0.1""#, #""from": "0.1", "to": "12345/48000""#, #""from": "0.4""#], "--verify")
        #expect(run.succeeded && run.outputText.split(separator: "\n").count == 3, "\(run.errorText)")
        #expect(try samples(1) == talk.cut(0..<4_800))
        #expect(try samples(2) == talk.cut(4_800..<12_345))
        #expect(try samples(3) == talk.cut(19_200..<24_000))
        let shown = try Sluice.run(["recipe", "show", "cut.json"], in: material.folder).checked().outputText
        #expect(shown.contains("piece 3.wav, 0:00.4 to the end"), "\(shown)")
    }

    @Test func theOutputThatFailsIsNamed() throws {
        let run = try convert([#""to": "0.1""#, #""from": "0.1", "to": "0.6""#])
        #expect(run.errorText.hasPrefix("error: piece 2.wav: the range 0:00.1..<0:00.6 is not within the source\n"))
        #expect(run.status == .exited(1), "\(run.errorText)")
        #expect(try material.folder.names() == ["cut.json", "talk.wav"])
        // Those that exist do not count, but the number is that of the recipe.
        try Bytes.write([1], to: material.path("piece 1.wav"))
        let later = try convert(
            [#""to": "0.1""#, #""from": "0.1", "to": "0.2""#, #""from": "0.2", "to": "0.6""#],
            "--on-conflict",
            "skip",
            "--json"
        )
        let lines = later.outputText.split(separator: "\n")
        let line = try #require(lines.first)
        let record = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect((record["failure"] as? [String: Any])?["output"] as? Int == 3, "\(later.outputText)")
        #expect(later.errorText.hasPrefix("error: piece 3.wav: the range "), "\(later.errorText)")
    }

    /// A failure of the source names the source, and no output that has nothing to do with it.
    @Test func aFailureOfTheSourceNamesNoOutput() throws {
        try material.addDamaged()
        let words = ["convert", "damaged.flac", "a.wav", "--also", "b.wav"]
        let run = try Sluice.run(words, in: material.folder)
        #expect(run.errorText.hasPrefix("error: damaged.flac is damaged"), "\(run.errorText)")
        #expect(!run.errorText.contains("a.wav") && !run.errorText.contains("b.wav"), "\(run.errorText)")
    }
}
