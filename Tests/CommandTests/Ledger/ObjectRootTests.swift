import Foundation
import TestSupport
import Testing

/// Roots that are buckets or on web servers, which `sluice doctor` and workers take.
struct ObjectRootTests {
    @Test func coordinatorsRefuseWebServers() throws {
        let run = try LedgerBench().run("coordinator", "--root", "web=https://host/p")
        #expect(run.status == .exited(2))
        #expect(
            run.errorText.contains("--root web=https://host/p: only workers read from web servers"),
            "\(run.errorText)"
        )
    }

    @Test func coordinatorsRefuseBuckets() throws {
        let run = try LedgerBench().run("coordinator", "--root", "archive=s3://bucket/p")
        #expect(run.status == .exited(2))
        #expect(
            run.errorText.contains("--root archive=s3://bucket/p: only workers read from buckets"),
            "\(run.errorText)"
        )
        #expect(run.errorText.contains("sluice doctor --root archive=s3://bucket/p examines the bucket"))
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
