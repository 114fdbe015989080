import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// `sluice submit` on a real ledger: the files it finds, the jobs it creates, and repeated submissions.
struct SubmitTests {
    let bench: LedgerBench

    init() throws { bench = try LedgerBench() }

    // MARK: - Finding files

    @Test func foldersAreWalkedInTheOrderOfNames() async throws {
        try bench.files(
            "in/b.wav",
            "in/a.flac",
            "in/2020/z 1.wav",
            "in/2020/x/deep.opus",
            "in/cover.jpg",
            "in/.part.wav"
        )
        try bench.files("in/.hidden/a.wav")
        let run = try bench.run(["submit", "-r", "in", "--label", "first"] + LedgerBench.usual).checked()
        #expect(run.outputText == "batch 1 \"first\"  4 jobs\n")
        let note = "note:  1 file without a known audio extension left out; select them with --include\n"
        #expect(run.errorText.hasPrefix(note))
        #expect(
            try await bench.ways() == [
                "in/2020/x/deep.opus > out/2020/x/deep.mp3", "in/2020/z 1.wav > out/2020/z 1.mp3",
                "in/a.flac > out/a.mp3", "in/b.wav > out/b.mp3",
            ]
        )
        let story = try #require(try await bench.ledger.story(of: 1))
        #expect(story.needs.sorted() == ["codec:mp3", "recipe:1", "root:local"])
    }

    @Test func globsChoose() async throws {
        try bench.files("in/a.wav", "in/b.pcm", "in/old/c.wav", "in/draft.wav")
        let words = ["submit", "-r", "in", "--include", "*.wav", "--include", "*.pcm", "--exclude", "old"]
        _ = try bench.run(words + ["--exclude", "draft*"] + LedgerBench.usual).checked()
        #expect(try await bench.ways() == ["in/a.wav > out/a.mp3", "in/b.pcm > out/b.mp3"])
    }

    @Test func linksToFilesAreTakenAndLinksToFoldersAreNot() async throws {
        try bench.files("in/a.wav", "elsewhere/b.wav")
        try #require(symlink("../elsewhere/b.wav", bench.folder.path("in/link.wav")) == 0)
        try #require(symlink("../elsewhere", bench.folder.path("in/folder.wav")) == 0)
        try #require(symlink("nowhere", bench.folder.path("in/gone.wav")) == 0)
        try #require(mkfifo(bench.folder.path("in/pipe.wav"), 0o600) == 0)
        _ = try bench.run(["submit", "-r", "in"] + LedgerBench.usual).checked()
        #expect(try await bench.ways() == ["in/a.wav > out/a.mp3", "in/link.wav > out/link.mp3"])
    }

    @Test func wordsNameFilesOnce() async throws {
        try bench.files("x/a.wav", "it's \"b\".wav")
        let run = try bench.run(["submit", "x/a.wav", "./x/../x/a.wav", "it's \"b\".wav"] + LedgerBench.usual).checked()
        #expect(run.errorText.hasPrefix("note:  1 file named more than once, used once\n"))
        #expect(try await bench.ways() == ["x/a.wav > out/a.mp3", "it's \"b\".wav > out/it's \"b\".mp3"])
    }

    @Test func listsKeepTheirFolders() async throws {
        try bench.files("x/a.wav", "x/y/b.wav", "c d.wav")
        let lines = "x/a.wav\n./x/y/b.wav\n\nc d.wav"
        let run = try bench.run(["submit", "--files-from", "-"] + LedgerBench.usual, input: .data(Data(lines.utf8)))
            .checked()
        #expect(run.outputText == "batch 1  3 jobs\n")
        #expect(
            try await bench.ways() == ["x/a.wav > out/x/a.mp3", "x/y/b.wav > out/x/y/b.mp3", "c d.wav > out/c d.mp3"]
        )
        try Bytes.write(Array("x/a.wav\0c d.wav\0".utf8), to: bench.folder.path("list"))
        _ = try bench.run(["submit", "-0", "--again", "--files-from", "list"] + LedgerBench.usual).checked()
        #expect(try await bench.ways(batch: 2) == ["x/a.wav > out/x/a.mp3", "c d.wav > out/c d.mp3"])
    }

    // MARK: - Roots

    @Test func rootsNameFolders() async throws {
        try bench.files("in/show/a.wav", "out/keep")
        let words = ["submit", "-r", "in", "--root", "pods=in", "--root", "mp3=out", "--to", "mp3:{dir}/{stem}.{ext}"]
        _ = try bench.run(words + ["--preset", "podcast-mp3"]).checked()
        #expect(try await bench.ways() == ["pods:show/a.wav > mp3:show/a.mp3"])
        let needs = ["codec:mp3", "recipe:1", "root:mp3", "root:pods"]
        #expect(try await bench.ledger.story(of: 1)?.needs.sorted() == needs)
    }

    @Test(arguments: [
        (["--to", "out/{stem}.flac"], "codec:flac"), (["--to", "out/{stem}.m4a"], "codec:aac"),
        (["--to", "out/{stem}.m4a", "--preset", "alac"], "codec:alac"), (["--to", "out/{stem}.opus"], "codec:opus"),
        (["--to", "out/{stem}.wav", "--codec", "ulaw"], "codec:ulaw"),
        (["--to", "out/{stem}.mka", "--preset", "passthrough"], nil),
    ])
    func outputsNameTheirCodec(words: [String], codec: String?) async throws {
        try bench.files("a.wav")
        _ = try bench.run(["submit", "a.wav"] + words).checked()
        let needs = try #require(try await bench.ledger.story(of: 1)?.needs)
        #expect(needs.sorted() == [codec].compactMap(\.self) + ["recipe:1", "root:local"])
    }

    @Test func linksLeadToTheSameRoot() async throws {
        try bench.files("real/show/a.wav", "real/b.wav")
        try #require(symlink("real", bench.folder.path("pods")) == 0)
        let words = ["--root", "pods=pods", "--to", "pods:mp3/{stem}.mp3"]
        // The paths: through the link, through its target, and through a link into the root.
        try #require(symlink("real/show", bench.folder.path("show")) == 0)
        _ = try bench.run(["submit", "-r", "pods/show"] + words).checked()
        _ = try bench.run(["submit", "real/b.wav"] + words).checked()
        _ = try bench.run(["submit", "show/a.wav", "--again"] + words).checked()
        let all = try await [bench.ways(), bench.ways(batch: 2), bench.ways(batch: 3)]
        #expect(all == [["pods:show/a.wav > pods:mp3/a.mp3"], ["pods:b.wav > pods:mp3/b.mp3"], all[0]])
    }

    @Test func locationsAreTakenAsTheyAre() async throws {
        _ = try bench.run(["submit", "archive:2024/a.wav", "--to", "mp3:{dir}/{stem}.opus"]).checked()
        #expect(try await bench.ways() == ["archive:2024/a.wav > mp3:2024/a.opus"])
    }

    @Test func locationsAreLookedAtWhereTheirRootIsHere() async throws {
        try bench.files("in/2024/a.wav")
        let words = ["--root", "archive=in", "--to", "archive:{dir}/{stem}.opus"]
        #expect(try bench.run(["submit", "archive:2024/b.wav"] + words).status == .exited(4))
        _ = try bench.run(["submit", "-r", "archive:2024"] + words).checked()
        #expect(try await bench.ways() == ["archive:2024/a.wav > archive:a.opus"])
    }

    @Test func pathsOutsideAllRootsAreRefused() throws {
        try bench.files("a.wav", "in/b.wav")
        let run = try bench.submit("a.wav", "--root", "pods=in", "--to", "pods:{stem}.mp3")
        #expect(run.status == .exited(2))
        #expect(run.errorText.hasPrefix("error: a.wav is not under any root (pods=\(bench.folder.path)/in)\n"))
        for root in ["pods", "=in", "a b=in", "http=in"] {
            #expect(try bench.submit("a.wav", "--root", root, "--to", "out/{stem}.mp3").status == .exited(2), "\(root)")
        }
    }

    // MARK: - Options

    @Test func wishesReachTheLedger() async throws {
        try bench.files("in/a.wav")
        let words = [
            "submit", "in/a.wav", "--to", "out/{stem}.flac", "--rate", "44.1k", "--bits", "16", "--from", "1",
            "--until", "2.5", "--dither", "none", "--strict-loss", "--conceal-limit", "90",
            "--on-damage", "conceal", "--on-conflict", "replace", "--verify", "--tag", "title=It", "--track", "1",
            "--queue", "nightly", "--priority", "-7", "--weight", "50", "--max-attempts", "5", "--label", "one",
            "--libav", "61",
        ]
        _ = try bench.run(words).checked()
        let story = try #require(try await bench.ledger.story(of: 1))
        let recipe = try Recipe(json: story.recipe)
        #expect(recipe.sources[0].track == 1)
        #expect(recipe.sources[0].ranges.map { "\($0.start) \($0.end)" } == ["0:01 0:02.5"])
        #expect(recipe.damage == .conceal && recipe.verify && recipe.tags == ["title": "It"])
        #expect(recipe.strictLoss && recipe.limits == Recipe.Limits(concealSeconds: 90))
        #expect(recipe.outputs[0].onConflict == .replace)
        let format = AudioFormat(container: .flac, sampleRateHz: 44_100, bitDepth: 16, dither: .rounding)
        #expect(recipe.outputs[0].format == format)
        #expect((story.summary.queue, story.summary.priority, story.summary.maxAttempts) == ("nightly", -7, 5))
        #expect(story.needs.contains("libav:61"))
        let batch = try #require(try await bench.ledger.batch(1))
        #expect((batch.name, batch.weight) == ("one", 50))
    }

    @Test func laterIsCountedByTheLedgersClock() async throws {
        try bench.files("a.wav")
        try bench.age(seconds: 86_400)
        _ = try bench.run(["submit", "a.wav", "--run-at", "2h"] + LedgerBench.usual).checked()
        let (now, story) = (try await bench.ledger.time(), try #require(try await bench.ledger.story(of: 1)))
        let ahead = try #require(story.runAt).timeIntervalSince(now)
        #expect((7_100...7_200).contains(ahead) && story.summary.state == .delayed)
    }

    @Test func extensionFollowsTheFormat() async throws {
        try bench.files("a.wav")
        for (words, name) in [
            (["--preset", "opus-96"], "a.opus"), (["--preset", "archive-flac"], "a.flac"),
            (["--container", "caf"], "a.caf"),
        ] {
            let run = try bench.run(["submit", "a.wav", "--to", "out/{stem}.{ext}", "--dry-run"] + words).checked()
            #expect(run.outputText.contains("/out/\(name)\n"))
        }
    }

    // MARK: - Dry runs and records

    @Test func dryRunSaysWhatWouldBeDone() async throws {
        try bench.files("in/b.wav")
        try Bytes.write([UInt8](repeating: 0, count: 1_500), to: bench.folder.path("in/a.wav"))
        let words = ["submit", "-r", "in", "--queue", "nightly", "--dry-run"] + LedgerBench.usual
        let run = try bench.run(words, environment: ["SLUICE_DATABASE_URL": "postgresql:///x?host=/nowhere"]).checked()
        let here = "local:" + bench.folder.path.dropFirst()
        #expect(
            run.outputText == """
                2 files, 1.5 kB  ->  2 jobs in queue nightly, priority 0
                  first       \(here)/in/a.wav -> \(here)/out/a.mp3
                nothing was submitted (--dry-run)

                """
        )
        #expect(try await bench.ledger.batches().isEmpty)
    }

    @Test func dryRunShowsAllThatIsWrong() throws {
        try bench.files("in/a.wav", "in/a.flac", "in/b.wav", "in/c\u{1}.wav", "out/b.mp3")
        let run = try bench.run(["submit", "-r", "in", "--dry-run", "--strict-names"] + LedgerBench.usual)
        #expect(run.status == .exited(1))
        for text in [
            "4 files, 0 B  ->  3 jobs in queue default, priority 0\n", "  names       1 name cannot be used\n",
            "  collisions  1 destination with several sources\n",
            "  conflicts   1 destination already exists: an error;",
            "the submission would be refused (--dry-run)\n",
        ] {
            #expect(run.outputText.contains(text), "\(text)")
        }
    }

    @Test func recordsKeepTheirNames() throws {
        try bench.files("in/a.wav", "in/a.flac", "in/b.wav", "out/b.mp3")
        let lines = [
            try bench.run(["submit", "-r", "in", "--dry-run", "--json"] + LedgerBench.usual).outputText,
            try bench.run(["submit", "in/a.wav", "--label", "one", "--json"] + LedgerBench.usual).outputText,
            try bench.run(["submit", "in/a.wav", "--label", "one", "--json"] + LedgerBench.usual).outputText,
        ]
        let text = lines.joined().replacing("local:" + bench.folder.path.dropFirst(), with: "local:HERE")
        try Golden.expect(Golden.maskedLedger(text), is: "submit.jsonl")
    }

    @Test func waitingEndsAsWaitDoes() async throws {
        try bench.files("a.wav", "b.wav")
        let words = ["submit", "a.wav", "b.wav", "--wait", "--progress", "plain"] + LedgerBench.usual
        let running = try RunningSluice(words, in: bench.folder, environment: bench.environment)
        try running.waitForOutput("batch 1  2 jobs\n")
        let fences = try await bench.claim(2, for: bench.worker(abilities: ["root:local", "codec:mp3"]))
        try await bench.complete(fences[0])
        try await bench.fail(fences[1])
        try running.ends(with: .exited(3))
        #expect(running.outputText == "batch 1  2 jobs\nbatch 1  1 completed, 1 failed\n")
    }

    @Test func ledgerThatDoesNotAnswerIsNoticedBeforeTheSearch() throws {
        let away = ["SLUICE_DATABASE_URL": "postgresql:///x?host=/nowhere"]
        // This file is missing, so the search would fail.
        let run = try bench.run(["submit", "missing.wav", "--to", "{stem}.mp3"], environment: away)
        #expect(run.status == .exited(5), "\(run.errorText)")
    }
}
