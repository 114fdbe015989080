import TestSupport
import Testing

/// `--to` as people write it: a folder, and names that tell sources apart.
struct SubmitFolderTests {
    private let bench: LedgerBench

    init() throws {
        bench = try LedgerBench()
        try bench.files("in/a.flac", "in/a.mp3", "in/deep/b.WAV", "c.wav")
    }

    @Test func aFolderHoldsTheOutputsAsTheSourcesLie() async throws {
        try bench.run("submit", "-r", "in/deep", "c.wav", "--to", "out/", "--preset", "podcast-mp3").checked()
        #expect(try await bench.ways().sorted() == ["c.wav > out/c.mp3", "in/deep/b.WAV > out/b.mp3"])
        let unknown = try bench.run("submit", "c.wav", "--to", "out/")
        #expect(unknown.status == .exited(2))
        #expect(
            unknown.errorText.hasPrefix("error: --to out/ is a folder, and the format of the outputs is not given\n")
        )
        #expect(unknown.errorText.contains("--preset or --container"))
    }

    @Test func sourcesThatDifferInTheirExtensionAreToldApart() async throws {
        let run = try bench.run("submit", "-r", "in", "--to", "out/{dir}/{stem}.opus")
        #expect(!run.succeeded && run.errorText.contains("{dir}/{stem}-{source-ext}.mp3"), "\(run.errorText)")
        try bench.run("submit", "-r", "in", "--to", "out/{dir}/{stem}-{source-ext}.opus").checked()
        let ways = try await bench.ways()
        #expect(ways.contains("in/a.flac > out/a-flac.opus") && ways.contains("in/a.mp3 > out/a-mp3.opus"), "\(ways)")
    }

    @Test func capitalsFitUnlessSaidOtherwise() async throws {
        try bench.run("submit", "-r", "in", "--include", "*.wav", "--to", "out/{stem}.mp3").checked()
        #expect(try await bench.ways() == ["in/deep/b.WAV > out/b.mp3"])
        let none = try bench.run("submit", "-r", "in", "--include", "*.wav", "--match-case", "--to", "out/{stem}.mp3")
        #expect(!none.succeeded)
    }
}
