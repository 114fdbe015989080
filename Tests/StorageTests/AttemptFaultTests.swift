import Conversion
import Foundation
import Storage
import TestSupport
import Testing

/// Publishes as a worker does, through an attempt's file. The worker is killed at every system call, and another
/// process finishes or sweeps.
struct AttemptFaultTests {
    static let ways = ["attempt-unnamed", "attempt-hidden"].flatMap { mode in
        [
            PublishFaultTests.Way(mode: mode, policy: "fail", old: nil),
            PublishFaultTests.Way(mode: mode, policy: "replace", old: "the old file"),
        ]
    }

    @Test(arguments: ways)
    func killedAnywhereAnybodyCanFinishOrSweep(way: PublishFaultTests.Way) throws {
        let attempt = AttemptName(job: 1, epoch: 2, lease: 3)
        let before: PublishFaultTests.Found = way.old == nil ? .nothing : .old
        var seen: [String] = []
        for call in try way.calls() where call.name != "exit_group" && !call.text.hasPrefix("write(1,") {
            let folder = try TemporaryFolder.create()
            let process = try way.process(in: folder)
            let run = try process.run(behind: Strace.words(["\(call.name):signal=SIGKILL:when=\(call.number)"]))
            #expect(run.status == .signalled(SIGKILL), "\(call)")
            let found = try PublishFaultTests.Found(process, way)
            #expect(found == before || found == .whole, "\(call)")
            let isLinked = try folder.names().contains(attempt.fileName(for: "out.wav"))

            // Another process has the ledger's row and repeats the order, twice: it may be half done.
            let root = try StorageRoot.open(name: "root", path: folder.path)
            let roots = try StorageRoots([root])
            let order = PublishOrder(
                of: attempt,
                to: try Location("root:out.wav"),
                with: try wholeFingerprint(process),
                onConflict: way.policy == "replace" ? .replace : .fail
            )
            let redone = word(roots.publish([order])[0])
            let again = word(roots.publish([order])[0])
            seen.append(redone)
            if isLinked || found == .whole {
                #expect(redone == (found == .whole ? "adopted" : "published"), "\(call)")
                #expect(again == "adopted", "\(call)")
                #expect(try PublishFaultTests.Found(process, way) == .whole, "\(call)")
            } else {
                // The process died before its file had a name, so the ledger never learned of it.
                #expect(redone == (way.old == nil || way.policy == "replace" ? "attempt_lost" : "destination_exists"))
                #expect(try PublishFaultTests.Found(process, way) == before, "\(call)")
            }
            _ = try root.sweep(folder: "", olderThan: .zero) { _ in false }
            #expect(try folder.names().filter { $0 != "out.wav" } == [], "\(call)")
        }
        #expect(Set(seen) == ["attempt_lost", "published", "adopted"])
    }

    /// The fingerprint of what `process` would have written.
    private func wholeFingerprint(_ process: StorageProcess) throws -> Fingerprint {
        let folder = try TemporaryFolder.create()
        let bytes = [UInt8](repeating: process.byte, count: process.byteCount)
        return try ready(folder.path("same"), holding: bytes).fingerprint()
    }
}

/// The outcome, or the code of the error.
func word(_ result: Result<PublishOutcome, StorageError>) -> String {
    switch result {
    case .success(let outcome): outcome.rawValue
    case .failure(let error): error.code.rawValue
    }
}
