import Foundation
import TestSupport
import Testing

/// Roots that are buckets, which only `sluice doctor` takes.
struct BucketRootTests {
    @Test(arguments: ["worker", "coordinator"])
    func servicesRefuseBuckets(command: String) throws {
        let run = try LedgerBench().run(command, "--root", "archive=s3://bucket/p")
        #expect(run.status == .exited(2))
        #expect(run.errorText.contains("--root archive=s3://bucket/p: jobs cannot use buckets yet"), "\(run.errorText)")
        #expect(run.errorText.contains("sluice doctor --root archive=s3://bucket/p examines the bucket"))
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
