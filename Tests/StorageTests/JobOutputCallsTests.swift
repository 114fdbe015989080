import Conversion
import Foundation
import Storage
import TestSupport
import Testing

/// The system calls of a job's output, and what they must not leave out.
struct JobOutputCallsTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func process(_ mode: String, _ policy: String = "fail") -> StorageProcess {
        StorageProcess(destination: folder.path("out.wav"), policy: policy, mode: mode)
    }

    private func hidden(_ slot: Int) -> String { folder.path(".out.wav.sluice-\(slot).part") }

    /// A file system with unnamed files needs no look at each of the hidden names that others need.
    @Test(arguments: ["fail", "replace"]) func unnamedOutputLooksForNoHiddenFiles(policy: String) throws {
        let calls = try Strace.calls(of: process("job-unnamed", policy))
        #expect(try folder.names() == ["out.wav"])
        #expect(calls.contains { $0.text.contains("O_TMPFILE") })
        let inVain = calls.filter { $0.text.contains(".part") }
        #expect(inVain.isEmpty, "\(inVain)")
    }

    /// Each destination folder is opened for preparing, and once more for the order to publish.
    @Test func jobOpensItsFolderOnceToPrepare() throws {
        let calls = try Strace.calls(of: process("job-unnamed"))
        let prepared = calls.prefix { !$0.text.contains("O_TMPFILE") }
        // Those with O_PATH open the root. Without openat2 the root's own folder is duplicated.
        let opened = prepared.filter {
            $0.name.hasPrefix("openat") && $0.text.contains("O_DIRECTORY") && !$0.text.contains("O_PATH")
        }
        #expect(opened.count <= 1, "\(opened)")
        let seen = prepared.filter { $0.name.hasSuffix("statat") && $0.text.contains("\"out.wav\"") }
        #expect(seen.count == 1, "\(seen)")
    }

    /// The read that returns all bytes of a short file also shows that no more follow.
    @Test func shortOutputIsReadBackWithOneCall() throws {
        let calls = try Strace.calls(of: process("job-unnamed"))
        let linked = calls.prefix { $0.name != "linkat" }
        let reads = linked.filter { $0.name.hasPrefix("pread") }
        #expect(reads.count == 1, "\(reads)")
    }

    @Test func hiddenOutputSweepsWhatAKilledRunHasLeft() throws {
        for slot in [1, 8] { try Bytes.write(Array("orphan".utf8), to: hidden(slot)) }
        #expect(try process("job-hidden").outcome() == "published")
        #expect(try folder.names() == ["out.wav"])
    }

    @Test(arguments: ["job-unnamed", "job-hidden"]) func jobKnowsItsOwnOutput(mode: String) throws {
        #expect(try process(mode).outcome() == "published")
        #expect(try process(mode).outcome() == "made")
        #expect(try process(mode, "replace").outcome() == "published")
        try Bytes.write(Array("another file".utf8), to: process(mode).destination)
        #expect(try process(mode).outcome() == "destination_exists at open")
        #expect(try process(mode, "skip").outcome() == "skipped")
        #expect(try process(mode, "replace").outcome() == "published")
    }

    /// A folder that is missing is created, whatever the policy.
    @Test(arguments: ["fail", "skip", "replace"]) func missingFolderIsCreated(policy: String) throws {
        let root = try StorageRoot.open(name: "root", path: folder.path)
        let policy = try #require(Recipe.ConflictPolicy(rawValue: policy))
        switch try root.prepareOutput(
            at: Location("root:a/b/out.wav"),
            for: AttemptName(job: 1, epoch: 2, lease: 3),
            madeOf: 4,
            onConflict: policy,
            sources: [],
            permissions: []
        ) {
        case .ready(let output):
            let isUnnamed = output.isUnnamed
            #expect(isUnnamed)
        case .skipped: Issue.record("it was skipped")
        case .made: Issue.record("nothing had made it")
        }
        #expect(try folder.names() == ["a"])
    }
}
