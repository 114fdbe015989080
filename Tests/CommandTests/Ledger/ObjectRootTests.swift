import Foundation
import ObjectStores
import TestSupport
import Testing

/// Roots that are buckets or on web servers, which `sluice doctor` and workers take.
struct ObjectRootTests {
    @Test func coordinatorsRefuseWebServers() throws {
        let run = try LedgerBench().run("coordinator", "--root", "web=https://host/p")
        #expect(run.status == .exited(2))
        #expect(
            run.errorText.contains("--root web=https://host/p: only submit, scan and workers read from web servers"),
            "\(run.errorText)"
        )
    }

    /// A shell would take the question mark for a pattern, and the ampersand for an end.
    @Test(arguments: [
        (["coordinator"], "a worker takes it: sluice worker --root 'archive=s3://bucket/p?region=r&path-style=yes'"),
        (
            ["up"],
            "start another worker beside that of your private cluster: sluice worker "
                + "--root 'archive=s3://bucket/p?region=r&path-style=yes' --root NAME=PATH"
        ),
        (["check", "--all"], "leave it out: no output is there"),
    ])
    func commandsOfFoldersRefuseBuckets(command: [String], hint: String) throws {
        let address = "archive=s3://bucket/p?region=r&path-style=yes"
        let bench = try LedgerBench()
        let place = ["XDG_DATA_HOME": bench.folder.path]
        let run = try bench.run(command + ["--root", address], environment: place)
        #expect(run.status == .exited(2))
        #expect(run.errorText.contains("--root \(address): only submit, scan and workers read from buckets"))
        #expect(run.errorText.contains(hint), "\(run.errorText)")
    }

    @Test(arguments: [
        ("s3://Bucket", "--root archive: the name of the bucket must consist of lower-case letters"),
        ("s3://bucket/a?colour=red", "--root archive: colour is no option of a bucket"),
        ("s3://bucket/a:wo", "--root archive: workers only read from buckets"),
        ("https://host/a:wo", "--root archive: workers only read from web servers"),
        (
            "https://me:word@host/a",
            "--root archive: the address contains a user name, which commands and logs would show"
        ),
        ("http://host/a", "?allow-http at the end permits it"),
        ("https://host/a/../b", "--root archive: the path contains the name .., which is not followed here"),
    ])
    func workersRefuseRootsThatTheyCannotRead(path: String, problem: String) throws {
        let run = try LedgerBench().run("worker", "--root", "archive=\(path)")
        #expect(run.status == .exited(2))
        #expect(run.errorText.contains(problem), "\(run.errorText)")
    }

    /// While it has credentials, neither it nor the programs that it starts leave a core dump, where the machine permits one.
    @Test func doctorLeavesNoCoreDump() throws {
        let bench = try LedgerBench()
        let (config, found) = (bench.folder.path("config"), bench.folder.path("limit"))
        let text = "[default]\ncredential_process = sh -c 'ulimit -S -c > \(found)'\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: config))
        let permitting = #"ulimit -S -c "$(ulimit -H -c)" && exec "$@""#
        let root = "archive=s3://bucket?endpoint=http://127.0.0.1:1"
        _ = try Run.program(
            "sh",
            ["-c", permitting, "sh", Sluice.path, "doctor", "--root", root],
            environment: Sluice.environment(bench.environment.merging(["AWS_CONFIG_FILE": config]) { $1 })
        )
        #expect(try String(contentsOfFile: found, encoding: .utf8) == "0\n")
    }

    @Test func doctorAsksAWebServer() throws {
        let run = try LedgerBench().run("doctor", "--json", "--root", "web=http://127.0.0.1:1/a?allow-http")
        #expect(run.status == .exited(1))
        let line = try #require(run.outputText.split(separator: "\n").first { $0.contains(#""subject":"root web""#) })
        #expect(line.contains(#""verdict":"fail""#) && line.contains("nothing answers at that address"), "\(line)")
    }

    /// A context and the settings of a machine name the buckets of workers, whose credentials need no right to write.
    @Test func doctorWritesOnlyToBucketsThatTheUserNames() throws {
        let (bench, store) = (try LedgerBench(), try StrictStore())
        let root = "archive=s3://bucket/pod?endpoint=http://127.0.0.1:\(store.port)"
        try store.set("fill", json: #"{"pod/a.wav": 10}"#)
        let url = try #require(bench.environment["SLUICE_DATABASE_URL"])
        let environment = [
            "AWS_ACCESS_KEY_ID": "KEY", "AWS_SECRET_ACCESS_KEY": "secret", "XDG_CONFIG_HOME": bench.folder.path,
        ]
        try Sluice.run(
            ["config", "set-context", "prod", "--database", url, "--root", root],
            in: bench.folder,
            environment: environment
        ).checked()
        let file = bench.folder.path("sluice.conf")
        try Data("database = \(url)\nroot = \(root)\n".utf8).write(to: URL(fileURLWithPath: file))
        for words in [["--context", "prod"], ["--config", file]] {
            let run = try Sluice.run(["doctor"] + words, in: bench.folder, environment: environment)
            #expect(run.outputText.contains("ok    root archive: objects can be read"), "\(run.outputText)")
            #expect(!run.outputText.contains("cannot write to them yet"), "\(run.outputText)")
        }
        let changes = ["PUT ", "POST ", "DELETE "]
        let read = try store.requests()
        #expect(!read.isEmpty && !read.contains { line in changes.contains { line.hasPrefix($0) } }, "\(read)")
        let named = try Sluice.run(
            ["doctor", "--context", "prod", "--root", root],
            in: bench.folder,
            environment: environment
        )
        #expect(named.outputText.contains("ok    root archive: objects can be removed"), "\(named.outputText)")
        #expect(try store.requests().contains { $0.hasPrefix("PUT ") })
    }

    @Test func doctorNamesWhatIsWrongWithAnAddress() throws {
        let run = try LedgerBench().run("doctor", "--json", "--root", "archive=s3://Bucket")
        #expect(run.status == .exited(1))
        let line = try #require(
            run.outputText.split(separator: "\n").first { $0.contains(#""subject":"root archive""#) }
        )
        #expect(line.contains(#""verdict":"fail""#))
        #expect(line.contains("the name of the bucket must consist of lower-case letters"))
    }
}
