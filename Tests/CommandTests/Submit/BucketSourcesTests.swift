import Conversion
import Foundation
import Ledger
import ObjectStores
import TestSupport
import Testing

/// Sources that `submit` and `scan` find in buckets.
struct BucketSourcesTests {
    private let bench: LedgerBench
    private let store: StrictStore
    private static let keys = ["AWS_ACCESS_KEY_ID": "KEY", "AWS_SECRET_ACCESS_KEY": "secret"]
    private static let target = ["--to", "out:{dir}/{stem}.mp3", "--preset", "podcast-mp3"]

    init() throws { (bench, store) = (try LedgerBench(), try StrictStore()) }

    private func root(_ prefix: String = "", bucket: String = "bucket") -> [String] {
        ["--root", "archive=s3://\(bucket)/\(prefix)?endpoint=http://127.0.0.1:\(store.port)"]
    }

    private func fill(_ keys: String...) throws { try fill(keys) }

    private func fill(_ keys: [String], size: Int = 1_000) throws {
        let sizes = Dictionary(keys.map { ($0, size) }) { first, _ in first }
        try store.set("fill", json: String(decoding: try JSONEncoder().encode(sizes), as: UTF8.self))
    }

    @discardableResult
    private func submit(_ words: String..., environment: [String: String] = Self.keys) throws -> Run {
        try bench.run(["submit"] + words + Self.target + root("pod"), environment: environment)
    }

    /// The object that a dry run prints.
    private func plan(_ words: String...) throws -> [String: Any] {
        let all = ["submit"] + words + ["--dry-run", "--json"] + Self.target + root("pod")
        let run = try bench.run(all, environment: Self.keys)
        return try #require(JSONSerialization.jsonObject(with: Data(run.outputText.utf8)) as? [String: Any])
    }

    // MARK: - Lists

    @Test func pagesOfALargeFolderAreListed() async throws {
        try fill((0..<2_500).map { "pod/2024/\($0 % 3)/\($0).wav" })
        try fill("pod/2024.wav", "pod/2025/a.wav", "pods/2024/a.wav", "2024/a.wav")
        try submit("-r", "archive:2024/").checked()
        let jobs = try await bench.ledger.jobs(ofBatch: 1, limit: 5_000)
        #expect(jobs.count == 2_500)
        let recipe = try await bench.recipe(of: jobs[0])
        #expect(recipe.sources[0].location == "archive:2024/0/0.wav")
        #expect(recipe.outputs[0].location == "out:0/0.mp3")
        // One finds out whether there are any.
        #expect(try store.requests().filter { $0.contains("list-type") }.count == 4)
    }

    /// As the walk through a folder does.
    @Test func filesThatAFolderWouldNotGiveAreLeftOut() async throws {
        try fill("pod/a/1.wav", "pod/a/2.MP3", "pod/a/notes.txt", "pod/a/.3.wav", "pod/.trash/4.wav")
        try fill("pod/tmp/5.wav", "pod/b/6.wav")
        try fill(["pod/", "pod/a/", "pod/empty/"], size: 0)
        let run = try submit("-r", "archive:", "--exclude", "tmp", "--exclude", "b/6.*").checked()
        #expect(try await bench.ways() == ["archive:a/1.wav > out:a/1.mp3", "archive:a/2.MP3 > out:a/2.mp3"])
        #expect(run.errorText.contains("1 file without a known audio extension left out"), "\(run.errorText)")
        #expect(!run.errorText.contains("cannot be used"))
    }

    @Test func onlyIncludedNamesAreTaken() async throws {
        try fill("pod/a/1.wav", "pod/a/2.WAV", "pod/a/3.sound", "pod/c/4.wav")
        try submit("-r", "archive:a", "--include", "*.wav", "--include", "*.sound").checked()
        let sources = try await bench.ways().map { $0.split(separator: " ")[0] }
        #expect(sources == ["archive:a/1.wav", "archive:a/2.WAV", "archive:a/3.sound"])
    }

    @Test func keysThatNoLocationNamesAreCountedAndLeftOut() async throws {
        try fill("pod/a//1.wav", "pod/../2.wav", "pod/./3.wav", "pod//4.wav", "pod/a/\u{1}.wav", "pod/folder.wav/")
        try fill("pod/5.wav")
        let run = try submit("-r", "archive:").checked()
        #expect(try await bench.ways() == ["archive:5.wav > out:5.mp3"])
        #expect(run.errorText.contains("6 names cannot be used and left out"), "\(run.errorText)")
        #expect(run.errorText.contains("archive:a//1.wav: its key contains an empty name"), "\(run.errorText)")
        let strict = try submit("-r", "archive:", "--strict-names")
        #expect(!strict.succeeded)
    }

    @Test func namesThatDifferInCaseCollideWhereTheyMay() throws {
        try fill("pod/a.wav", "pod/A.wav", "pod/\u{E9}.wav")
        try fill("pod/e\u{301}.wav")
        let exact = try plan("-r", "archive:")
        #expect(exact["jobs"] as? Int == 4)
        let portable = try plan("-r", "archive:", "--portable-names")
        #expect((portable["collisions"] as? [String: Any])?["count"] as? Int == 2, "\(portable)")
    }

    @Test func dryRunCountsTheBytesOfObjects() throws {
        try fill(["pod/a.wav", "pod/b.wav"], size: 3_000_000_000)
        let plan = try plan("-r", "archive:")
        #expect(plan["bytes"] as? Int == 6_000_000_000 && plan["jobs"] as? Int == 2)
        let text = try submit("-r", "archive:", "--dry-run").checked().outputText
        #expect(text.contains("2 files, 6.0 GB  ->  2 jobs"), "\(text)")
        #expect(text.contains("archive:a.wav -> out:a.mp3"))
    }

    @Test func emptyFolderGivesNothing() throws {
        try fill("pod/a/1.wav")
        let run = try submit("-r", "archive:2031/")
        #expect(run.status == .exited(9))
        #expect(run.errorText == "error: nothing to submit\nhint:  there are no objects in archive:2031/\n")
        let other = try submit("-r", "archive:a/", "archive:2031/", "--dry-run").checked()
        #expect(other.errorText.contains("there are no objects in archive:2031/\n"), "\(other.errorText)")
        let more = try submit("-r", "archive:a/", "archive:2031/", "archive:2032", "--dry-run")
        #expect(more.errorText.contains("archive:2032 does not exist"), "\(more.errorText)")
        let both = try submit("-r", "archive:a/", "archive:2031/", "archive:2032/", "--dry-run").checked()
        #expect(both.errorText.contains("there are no objects in these folders\n"), "\(both.errorText)")
    }

    @Test func folderNeedsRecursion() throws {
        try fill("pod/a/1.wav")
        for word in ["archive:a", "archive:a/", "archive:"] {
            let run = try submit(word)
            #expect(run.status == .exited(2))
            #expect(run.errorText.contains("\(word) is a folder"), "\(run.errorText)")
        }
    }

    /// No file and folder of a disk have one name.
    @Test func objectWithTheNameOfAFolderHidesNoObjects() async throws {
        try fill("pod/june", "pod/june/a.wav", "pod/talk.wav", "pod/talk.wav/b.wav")
        let run = try submit("-r", "archive:june")
        #expect(run.status == .exited(2))
        #expect(run.errorText.contains("archive:june is an object and a folder"), "\(run.errorText)")
        try submit("-r", "archive:june/", "archive:talk.wav").checked()
        #expect(try await bench.ways() == ["archive:june/a.wav > out:a.mp3", "archive:talk.wav > out:talk.mp3"])
        try fill(["pod/june"], size: 0)
        let marked = try submit("-r", "archive:june", "--again", "--dry-run").checked()
        #expect(marked.outputText.contains("archive:june/a.wav -> out:a.mp3"), "\(marked.outputText)")
    }

    /// The object would be taken, and the folder forgotten.
    @Test func folderThatCannotBeListedIsNotTakenForAnObject() async throws {
        try fill("pod/june", "pod/june/a.wav")
        try store.set(faults: .init(match: "list-type", do: "status", times: 100, status: 400, code: "InvalidRequest"))
        let run = try submit("-r", "archive:june")
        #expect(!run.succeeded)
        #expect(run.errorText.hasPrefix("error: cannot list archive:june: "), "\(run.errorText)")
        // Credentials that may not list can only mean the object.
        try store.set("faults", json: "[]")
        try store.set("denied", json: #"["list-type"]"#)
        let denied = try submit("-r", "archive:june", "--include", "june", "--dry-run").checked()
        #expect(denied.outputText.contains("archive:june -> out:june.mp3"), "\(denied.outputText)")
    }

    /// -r would not help there.
    @Test func fileOfAllJobsIsNoFolder() throws {
        try fill("pod/a.wav", "pod/art/1.jpg")
        for cover in ["archive:art", "archive:art/"] {
            let run = try submit("archive:a.wav", "--cover", cover)
            #expect(run.status == .exited(2))
            #expect(run.errorText.hasPrefix("error: \(cover) is a folder\n"), "\(run.errorText)")
            #expect(run.errorText.contains("all jobs read it, so it must be a file"), "\(run.errorText)")
        }
    }

    // MARK: - Single objects

    @Test func objectThatIsNamedMustBeThere() async throws {
        try fill("pod/june/talk.wav")
        try submit("archive:june/talk.wav").checked()
        #expect(try await bench.ways() == ["archive:june/talk.wav > out:june/talk.mp3"])
        #expect(try store.requests() == ["HEAD /bucket/pod/june/talk.wav"])
        let run = try submit("archive:june/tale.wav")
        #expect(run.status == .exited(4))
        #expect(run.errorText.contains("archive:june/tale.wav does not exist"))
        let outside = try submit("archive:../talk.wav")
        #expect(!outside.succeeded && outside.errorText.contains("it contains \"..\""), "\(outside.errorText)")
    }

    @Test func objectsOfAListMustBeThere() async throws {
        try fill((0..<100).map { "pod/\($0).wav" })
        let list = bench.folder.path("list")
        let names = (0..<100).map { "archive:\($0).wav\n" }
        try Bytes.write(Array(names.joined().utf8), to: list)
        try submit("--files-from", "list").checked()
        #expect(try await bench.ways().count == 100)
        try Bytes.write(Array((names + ["archive:100.wav\n"]).joined().utf8), to: list)
        let run = try submit("--files-from", "list")
        #expect(run.status == .exited(4))
        #expect(run.errorText.contains("archive:100.wav does not exist"), "\(run.errorText)")
    }

    // MARK: - What has changed

    @Test func replacedObjectIsSubmittedAgain() async throws {
        try fill("pod/a.wav", "pod/b.wav")
        try submit("-r", "archive:").checked()
        let worker = try await bench.worker(abilities: ["root:archive", "root:out", "codec:mp3"])
        for fence in try await bench.claim(2, for: worker) { try await bench.complete(fence) }
        try bench.files("done/a.mp3", "done/b.mp3")
        for name in ["done/a.mp3", "done/b.mp3"] {
            try Bytes.write([UInt8](repeating: 0, count: 1_234_567), to: bench.folder.path(name))
        }
        #expect(try findings("-r", "archive:") == ["unchanged": 2])
        try fill(["pod/b.wav"], size: 2_000)
        #expect(try findings("-r", "archive:") == ["unchanged": 1, "changed": 1])
        // The time of a list has a fraction, and that of HEAD has none.
        #expect(try findings("archive:a.wav") == ["unchanged": 1])
        #expect(try findings("archive:b.wav") == ["changed": 1])
    }

    /// Those that are not zero, with the outputs on this machine.
    private func findings(_ words: String...) throws -> [String: Int] {
        let roots = root("pod") + ["--root", "out=\(bench.folder.path("done"))"]
        let all = ["submit"] + words + ["--dry-run", "--json"] + Self.target + roots
        let run = try bench.run(all, environment: Self.keys)
        let plan = try #require(JSONSerialization.jsonObject(with: Data(run.outputText.utf8)) as? [String: Any])
        return try #require(plan["findings"] as? [String: Int]).filter { $0.value > 0 }
    }

    @Test func objectsAreScanned() async throws {
        try fill("pod/a.wav", "pod/b.wav")
        let words = ["scan", "-r", "archive:", "--json"] + root("pod")
        #expect(try bench.run(words, environment: Self.keys).checked().outputText.contains(#""jobs":2"#))
        let recipe = try await bench.recipe(of: bench.ledger.jobs(ofBatch: 1)[0])
        #expect(recipe.sources[0].location == "archive:a.wav")
        let empty = try bench.run(["scan", "-r", "archive:2031/"] + root("pod"), environment: Self.keys)
        #expect(empty.status == .exited(9))
        #expect(empty.errorText.components(separatedBy: "there are no objects in archive:2031/").count == 2)
    }

    // MARK: - What needs the contents

    @Test func foldersAreJoinedByTheirNames() async throws {
        try fill("pod/book/10.mp3", "pod/book/2.mp3")
        let words = ["submit", "-r", "archive:", "--join-folders", "--to", "out:{dir}.m4b"] + root("pod")
        let run = try bench.run(words, environment: Self.keys).checked()
        #expect(run.errorText.contains("covers and lists of chapters beside objects in buckets are left out"))
        let recipe = try await bench.recipe(of: bench.ledger.jobs(ofBatch: 1)[0])
        #expect(recipe.sources.map(\.location) == ["archive:book/2.mp3", "archive:book/10.mp3"])
        let tags = try bench.run(words + ["--order", "tags"], environment: Self.keys)
        #expect(tags.status == .exited(2) && tags.errorText.contains("--order names"), "\(tags.errorText)")
    }

    @Test func sourcesAreCutAtTimesOnly() throws {
        try fill("pod/a.wav")
        let words = ["submit", "-r", "archive:", "--to", "out:{stem}-{n}.mp3", "--dry-run"] + root("pod")
        try bench.run(words + ["--split-at", "0:10,0:20"], environment: Self.keys).checked()
        let run = try bench.run(words + ["--split-at", "chapters"], environment: Self.keys)
        let why = "is in a bucket, and only files of this machine are searched"
        #expect(run.errorText.contains(why) && run.errorText.contains("give times"), "\(run.errorText)")
    }

    // MARK: - Stores that refuse

    @Test func missingPermissionIsNamed() throws {
        try fill("pod/a.wav")
        try store.set("denied", json: #"["list-type"]"#)
        let list = try submit("-r", "archive:")
        #expect(list.status == .exited(6))
        #expect(list.errorText.hasPrefix("error: cannot list archive:"), "\(list.errorText)")
        #expect(list.errorText.hasSuffix("allow the credentials s3:ListBucket on arn:aws:s3:::bucket\n"))
        try submit("archive:a.wav").checked()
        try store.set("denied", json: #"["HEAD"]"#)
        let look = try submit("archive:a.wav")
        #expect(look.status == .exited(6))
        #expect(look.errorText.contains("s3:GetObject on arn:aws:s3:::bucket/pod/*"), "\(look.errorText)")
        // A list does not need it.
        try submit("-r", "archive:").checked()
    }

    @Test func wrongAndMissingCredentialsAreTold() throws {
        try fill("pod/a.wav")
        let wrongKeys = Self.keys.merging(["AWS_SECRET_ACCESS_KEY": "x"]) { $1 }
        let wrong = try submit("-r", "archive:", environment: wrongKeys)
        #expect(wrong.status == .exited(6) && wrong.errorText.contains("check the credentials"), "\(wrong.errorText)")
        let none = try submit("-r", "archive:", environment: ["AWS_EC2_METADATA_DISABLED": "true"])
        #expect(none.status == .exited(7))
        #expect(none.errorText.contains("there are no credentials for object storage"), "\(none.errorText)")
    }

    @Test func missingBucketIsToldAsSuch() throws {
        let run = try bench.run(
            ["submit", "-r", "archive:2024/"] + Self.target + root(bucket: "buckle"),
            environment: Self.keys
        )
        #expect(run.status == .exited(4))
        #expect(run.errorText.contains("cannot list archive:2024/: no such bucket: buckle"), "\(run.errorText)")
    }

    /// The page is asked for again by the same token.
    @Test func listGoesOnWhenTheStoreIsBack() async throws {
        try fill((0..<2_500).map { "pod/\($0).wav" })
        try store.set(
            faults: .init(match: "continuation-token", do: "status", times: 2, status: 503, code: "SlowDown"),
            .init(match: "continuation-token", do: "reset", times: 1)
        )
        try submit("-r", "archive:").checked()
        #expect(try await bench.ledger.jobs(ofBatch: 1, limit: 5_000).count == 2_500)
        let tokens = try store.requests().filter { $0.contains("continuation-token") }
        #expect(tokens.count == 5 && Set(tokens).count == 2, "\(tokens)")
    }

    @Test func storeThatIsAwayEndsTheCommand() async throws {
        try store.set(faults: .init(match: "list-type", do: "status", times: 100, status: 503, code: "SlowDown"))
        let run = try submit("-r", "archive:")
        #expect(run.status == .exited(5))
        #expect(run.errorText.contains("run the command again when the store answers"), "\(run.errorText)")
        #expect(try store.requests().count == 4)
    }

    // MARK: - Where roots come from

    @Test func contextHasBuckets() async throws {
        try fill("pod/a.wav")
        let url = try #require(bench.environment["SLUICE_DATABASE_URL"])
        let place = Self.keys.merging(["XDG_CONFIG_HOME": bench.folder.path]) { $1 }
        let words = ["config", "set-context", "prod", "--database", url] + root("pod") + ["--root", "out=/srv/out"]
        try Sluice.run(words, in: bench.folder, environment: place).checked()
        let submit = ["submit", "--context", "prod"] + Self.target
        try Sluice.run(submit + ["-r", "archive:"], in: bench.folder, environment: place).checked()
        #expect(try await bench.ways() == ["archive:a.wav > out:a.mp3"])
        // Also beside roots of the command line.
        for other in ["out=\(bench.folder.path)", "other=s3://other?endpoint=http://127.0.0.1:1"] {
            let words = submit + ["-r", "archive:", "--root", other, "--dry-run", "--again"]
            let run = try Sluice.run(words, in: bench.folder, environment: place).checked()
            #expect(run.outputText.contains("->  1 job in queue default"), "\(run.outputText)")
        }
        let replaced = submit + ["-r", "archive:", "--root", "archive=s3://bucket/x?endpoint=http://127.0.0.1:1"]
        #expect(try Sluice.run(replaced, in: bench.folder, environment: place).status == .exited(5))
        // The workers' bucket, of which this user knows nothing.
        let stranger = ["XDG_CONFIG_HOME": bench.folder.path, "AWS_EC2_METADATA_DISABLED": "true"]
        let run = try Sluice.run(submit + ["archive:b.wav"], in: bench.folder, environment: stranger).checked()
        #expect(run.errorText.contains("1 object not looked at"), "\(run.errorText)")
    }

    /// Workers in another network may get to it. What the user names is the user's.
    @Test func bucketOfWorkersThatIsOutOfReachIsNotLookedInto() async throws {
        let url = try #require(bench.environment["SLUICE_DATABASE_URL"])
        let place = Self.keys.merging(["XDG_CONFIG_HOME": bench.folder.path]) { $1 }
        // Nothing listens there.
        let root = ["--root", "archive=s3://bucket/pod?endpoint=http://127.0.0.1:1"]
        let words = ["config", "set-context", "prod", "--database", url] + root
        try Sluice.run(words, in: bench.folder, environment: place).checked()
        try Bytes.write(Array("archive:b.wav\narchive:c.wav\n".utf8), to: bench.folder.path("list"))
        let submit = ["submit", "--context", "prod"] + Self.target
        for (sources, count) in [(["archive:a.wav"], "1 object"), (["--files-from", "list"], "2 objects")] {
            let run = try Sluice.run(submit + sources, in: bench.folder, environment: place).checked()
            #expect(run.errorText.contains("\(count) not looked at"), "\(run.errorText)")
        }
        #expect(try await bench.ways() == ["archive:a.wav > out:a.mp3"])
        for words in [["-r", "archive:"], ["-r", "archive:d"], ["archive:d.wav"] + root] {
            let run = try Sluice.run(submit + words, in: bench.folder, environment: place)
            #expect(run.status == .exited(5), "\(run.errorText)")
        }
    }

    /// The others of a list are looked at, in a bucket of which the user may see a part.
    @Test func deniedObjectHidesNoOther() async throws {
        try fill((1..<200).map { "pod/\($0).wav" })
        try store.set("denied", json: #"["HEAD /bucket/pod/0.wav"]"#)
        let url = try #require(bench.environment["SLUICE_DATABASE_URL"])
        let place = Self.keys.merging(["XDG_CONFIG_HOME": bench.folder.path]) { $1 }
        let words = ["config", "set-context", "prod", "--database", url] + root("pod")
        try Sluice.run(words, in: bench.folder, environment: place).checked()
        let submit = ["submit", "--context", "prod", "--files-from", "list"] + Self.target
        let names = (0..<200).map { "archive:\($0).wav\n" }
        try Bytes.write(Array(names.joined().utf8), to: bench.folder.path("list"))
        let run = try Sluice.run(submit, in: bench.folder, environment: place).checked()
        #expect(run.errorText.contains("1 object not looked at"), "\(run.errorText)")
        #expect(try await bench.ways().count == 200)
        try Bytes.write(Array((names + ["archive:gone.wav\n"]).joined().utf8), to: bench.folder.path("list"))
        let gone = try Sluice.run(submit, in: bench.folder, environment: place)
        #expect(gone.status == .exited(4) && gone.errorText.contains("archive:gone.wav does not exist"))
    }

    @Test(arguments: [
        ("archive=s3://Bucket", "--root archive: the name of the bucket must consist of lower-case letters"),
        ("archive=s3://bucket:wo", "--root archive: a bucket is read only"),
        ("s3=s3://bucket", "--root s3: s3 is reserved"),
    ])
    func rootsThatNameNoBucketAreRefused(root: String, problem: String) throws {
        let run = try bench.run(["submit", "-r", "archive:"] + Self.target + ["--root", root])
        #expect(run.status == .exited(2) && run.errorText.contains(problem), "\(run.errorText)")
    }

    /// The user has typed no root.
    @Test func mistakeInTheSettingsIsToldWithTheirFile() throws {
        let url = try #require(bench.environment["SLUICE_DATABASE_URL"])
        let file = bench.folder.path("sluice.conf")
        try Bytes.write(Array("database = \(url)\nroot = archive=s3://Bucket\n".utf8), to: file)
        let place = ["SLUICE_CONFIG": file, "XDG_CONFIG_HOME": bench.folder.path]
        let run = try Sluice.run(["submit", "archive:a.wav"] + Self.target, in: bench.folder, environment: place)
        #expect(run.status == .exited(7))
        #expect(run.errorText.hasPrefix("error: \(file): --root archive: the name of the bucket"), "\(run.errorText)")
    }

    @Test func commandThatStartsAWorkerNamesTheBucket() async throws {
        try fill("pod/a.wav")
        _ = try await bench.worker(abilities: ["root:out", "codec:mp3"])
        let run = try submit("-r", "archive:").checked()
        #expect(run.errorText.contains("sluice worker --root 'archive=s3://bucket/pod/?endpoint="), "\(run.errorText)")
    }

    // MARK: - Memory

    /// Of objects that are not taken, nothing is kept.
    @Test func memoryDoesNotGrowWithTheList() throws {
        func peakKiB(_ count: Int) throws -> Int {
            try store.set("many", json: "\(count)")
            let program =
                "import resource, subprocess, sys; subprocess.run(sys.argv[1:]); "
                + "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
            let words = ["submit", "-r", "archive:", "--include", "none*", "--dry-run"] + Self.target + root("pod")
            let environment = Sluice.environment(bench.environment.merging(Self.keys) { $1 })
            let run = try Run.program("python3", ["-c", program, Sluice.path] + words, environment: environment)
            #expect(run.errorText.contains("nothing to submit"), "\(run.errorText)")
            return try #require(run.outputText.split(separator: "\n").last.flatMap { Int($0) })
        }
        let (few, many) = (try peakKiB(3_000), try peakKiB(100_000))
        #expect(many - few < 6 << 10, "\(few) KiB for 3,000 objects, \(many) KiB for 100,000")
        #expect(try store.requests().count == 105)
    }
}

extension LedgerBench {
    fileprivate func recipe(of job: Int64) async throws -> Recipe {
        try Recipe(json: try #require(try await ledger.story(of: job)).recipe)
    }
}
