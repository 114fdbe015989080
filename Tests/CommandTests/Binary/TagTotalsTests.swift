import Foundation
import TestSupport
import Testing

/// `sluice tags` tells numbers from their totals in all formats, also where one text or item has both.
struct TagTotalsTests {
    private let material: Material

    init() throws { material = try Material() }

    private func tags(_ words: String...) throws -> Run {
        try Sluice.run(["tags"] + words, in: material.folder).checked()
    }

    /// The numbers and the totals as `tags` shows them.
    private func shown(_ name: String) throws -> [String: [String]] {
        let line = try tags("--json", name).stdout
        let record = try #require(try JSONSerialization.jsonObject(with: line) as? [String: Any])
        let tags = try #require(record["tags"] as? [String: [String]])
        return tags.filter { ["tracknumber", "totaltracks", "discnumber", "totaldiscs"].contains($0.key) }
    }

    /// The number of the track with its total behind it, as ffprobe finds them, wherever they are.
    private func track(_ name: String) throws -> String? {
        let probe = try FFmpeg.probe(material.path(name))
        let all = [probe.tags, probe.audio.first?.tags ?? [:]].flatMap(\.self)
        let found = Dictionary(all.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
        guard let total = found["tracktotal"] ?? found["total_parts"] else { return found["track"] }
        return "\(found["track"] ?? "")/\(total)"
    }

    private static let kinds: [(name: String, codec: String)] = [
        ("a.mp3", "libmp3lame"), ("a.m4a", "aac"), ("a.wv", "wavpack"), ("a.flac", "flac"), ("a.mka", "flac"),
        ("a.aiff", "pcm_s16be"),
    ]

    @Test(arguments: kinds) func numberAndTotalChangeEachForItself(name: String, codec: String) throws {
        let metadata = ["-metadata", "track=3/12", "-metadata", "disc=1/2", "-write_id3v2", "1"]
        let options = name == "a.aiff" ? metadata : Array(metadata.prefix(4))
        try FFmpeg.encode(material.path("talk.wav"), to: material.path(name), options + ["-c:a", codec])
        let discs = ["discnumber": ["1"], "totaldiscs": ["2"]]
        func expect(_ number: String?, of total: String?, _ after: String) throws {
            var wanted: [String: [String]] = discs
            wanted["tracknumber"] = number.map { [$0] }
            wanted["totaltracks"] = total.map { [$0] }
            let found = try shown(name)
            #expect(found == wanted, "\(after): \(found)")
        }
        try expect("3", of: "12", "as ffmpeg made it")
        let changes: [(words: [String], number: String?, total: String?)] = [
            (["--set", "tracknumber=4"], "4", "12"), (["--set", "totaltracks=15"], "4", "15"),
            (["--remove", "totaltracks"], "4", nil), (["--set", "tracknumber=5/20"], "5", "20"),
            (["--remove", "tracknumber"], nil, "20"),
        ]
        for change in changes {
            let words = ["tags"] + change.words + [name]
            let (first, second) = (
                try Sluice.run(words, in: material.folder).checked(),
                try Sluice.run(words, in: material.folder).checked()
            )
            #expect(first.outputText.hasPrefix("\(name)  changed"), "\(change.words): \(first.outputText)")
            #expect(second.outputText == "\(name)  unchanged\n", "\(change.words): \(second.outputText)")
            try expect(change.number, of: change.total, "\(change.words)")
            guard let number = change.number else { continue }
            let written = change.total.map { number + "/" + $0 } ?? number
            #expect(try track(name) == written, "\(change.words)")
        }
    }

    /// So they do where an output of another format gets them.
    @Test func setTotalsWinOverThoseOfTheSource() throws {
        let flac = material.path("a.flac")
        try FFmpeg.encode(material.path("talk.wav"), to: flac, ["-metadata", "track=3/12"])
        try Sluice.run("convert", "a.flac", "b.flac", "--tag", "track=4/15", in: material.folder).checked()
        #expect(try track("b.flac") == "4/15")
        try Sluice.run("convert", "a.flac", "c.mp3", "--tag", "tracknumber=4", in: material.folder).checked()
        #expect(try track("c.mp3") == "4/12")
    }
}
