import Conversion
import Ledger
import TestSupport
import Testing

/// Destinations that several sources have, and tags that name their source.
struct SubmitNamingTests {
    private let bench: LedgerBench

    init() throws { bench = try LedgerBench() }

    @Test func namesThatDifferInCaseOnlyAreOneWherePortable() async throws {
        // The second name is the first one with a combining accent.
        try bench.files("in/Caf\u{e9}.wav", "in/cafe\u{301}.flac")
        let words = ["submit", "-r", "in", "--to", "out/{stem}.mp3"]
        #expect(try bench.run(words + ["--dry-run"]).succeeded)
        let run = try bench.run(words + ["--portable-names"])
        #expect(run.status == .exited(1) && run.errorText.contains("1 destination has several sources"))
        #expect(run.errorText.contains("or a name that differs in case or Unicode form only"), "\(run.errorText)")
        #expect(run.errorText.contains("--on-collision number"))
        try bench.run(words + ["--portable-names", "--on-collision", "number"]).checked()
        #expect(try await bench.ways().filter { $0.hasSuffix("-2.mp3") }.count == 1)
    }

    @Test func collidingDestinationsGetNumbers() async throws {
        try bench.files("in/a.flac", "in/a.mp3", "in/a.wav", "in/a-2.wav", "in/b.wav")
        let words = ["submit", "-r", "in", "--to", "out/{stem}.opus", "--also", "low/{stem}.mp3"]
        let numbered = words + ["--on-collision", "number"]
        try bench.run(numbered).checked()
        let ways = try await bench.ways().map { $0.split(separator: " > ").last ?? "" }.sorted()
        #expect(ways == ["out/a-2.opus", "out/a-3.opus", "out/a-4.opus", "out/a.opus", "out/b.opus"], "\(ways)")
        try bench.run(numbered).checked()
        #expect(try await bench.ways().count == 5, "a repetition makes the same names")
    }

    @Test func sourceThatIsAddedLaterTakesNoName() async throws {
        try bench.files("in/b.mp3", "in/b.wav")
        let words = ["submit", "-r", "in", "--to", "out/{stem}.opus", "--on-collision", "number"]
        try bench.run(words).checked()
        // It comes first.
        try bench.files("in/b.flac")
        try bench.run(words).checked()
        let ways = try await bench.ways(batch: 2)
        #expect(ways == ["in/b.flac > out/b-3.opus"], "\(ways)")
    }

    @Test func aNameThatIsTooLongForItsNumberIsToldByItsSource() throws {
        let long = String(repeating: "n", count: 250)
        try bench.files("in/\(long).wav", "in/\(long).mp3")
        let run = try bench.run("submit", "-r", "in", "--to", "out/{stem}.flac", "--on-collision", "number")
        #expect(run.status == .exited(1) && run.errorText.contains("a name of 257 bytes"), "\(run.errorText)")
    }

    @Test func tagsNameTheirSource() async throws {
        try bench.files("in/show/one.wav", "in/two.wav")
        try bench.run(
            "submit",
            "-r",
            "in",
            "--to",
            "out/{stem}.mp3",
            "--tag",
            "title={stem}",
            "--tag",
            "album={dir}",
            "--tag",
            "artist=Ada {{L}}"
        ).checked()
        var tags: Set<[String: Recipe.TagValues]> = []
        for job in try await bench.ledger.jobs(ofBatch: 1) {
            let story = try #require(try await bench.ledger.story(of: job))
            tags.insert(try Recipe(json: story.recipe).tags)
        }
        #expect(
            tags == [
                ["title": "one", "album": "show", "artist": "Ada {L}"],
                ["title": "two", "album": "", "artist": "Ada {L}"],
            ]
        )
        // The tags of a file are those of all jobs.
        try Bytes.write(Array("ALBUM=The {harbour}\nTITLE=None\n".utf8), to: bench.folder.path("tags.txt"))
        let listed = ["submit", "in/two.wav", "--to", "listed/{stem}.mp3", "--tag-file", "tags.txt"]
        try bench.run(listed + ["--tag", "title={stem}"]).checked()
        let last = try #require(try await bench.ledger.jobs(ofBatch: 2).first)
        let story = try #require(try await bench.ledger.story(of: last))
        #expect(try Recipe(json: story.recipe).tags == ["ALBUM": "The {harbour}", "title": "two"])
        // Values of one tag that differ between files and such that do not.
        let several = ["submit", "in/two.wav", "--to", "several/{stem}.mp3", "--tag", "artist=Ada"]
        try bench.run(several + ["--tag", "ARTIST={stem}", "--tag", "genre=a", "--tag", "genre=b"]).checked()
        let third = try #require(try await bench.ledger.jobs(ofBatch: 3).first)
        let list = try Recipe(json: try #require(try await bench.ledger.story(of: third)).recipe).tags
        #expect(list == ["artist": .init(["Ada", "two"]), "genre": .init(["a", "b"])])
        let mixed = try bench.run("convert", "in/two.wav", "x.mp3", "--tag", "title={nonsense}")
        #expect(mixed.status == .exited(2) && mixed.errorText.contains("known: {dir} {stem} {source-ext}"))
    }
}
