import Conversion
import Foundation
import Storage
import TestSupport
import Testing

struct GroupPublishTests {
    let folder: TemporaryFolder
    let root: StorageRoot
    let roots: StorageRoots

    init() throws {
        folder = try TemporaryFolder.create()
        root = try StorageRoot.open(name: "root", path: folder.path)
        roots = try StorageRoots([root])
    }

    private func output(
        _ place: String,
        _ bytes: String,
        _ policy: Recipe.ConflictPolicy = .fail,
        hidden: Bool = false
    ) throws -> OutputFile {
        switch try root.prepareOutput(at: Location(place), onConflict: policy, mustBeHidden: hidden) {
        case .skipped: throw SupportError("prepare \(place)", "it was skipped")
        case .ready(let output):
            let bytes = Array(bytes.utf8)
            guard write(output.descriptor, bytes, bytes.count) == bytes.count else {
                throw SupportError("write \(place)", errno: errno)
            }
            return output
        }
    }

    /// Links an output under the name of its attempt. Returns the order to publish it.
    private func linked(
        _ place: String,
        _ bytes: String,
        _ policy: Recipe.ConflictPolicy = .fail,
        job: Int64 = 1
    ) throws -> PublishOrder {
        let output = try output(place, bytes, policy)
        let fingerprint = try output.fingerprint()
        let attempt = AttemptName(job: job, epoch: 1, lease: .random(in: .min ... .max))
        var group = OutputGroup()
        group.add(output, as: attempt, with: fingerprint)
        for result in group.link(durably: false) { try result.get() }
        return PublishOrder(of: attempt, to: try Location(place), with: fingerprint, onConflict: policy)
    }

    @Test func fingerprintIsWhatSha256sumSays() throws {
        let output = try output("root:a", "abc")
        let fingerprint = try output.fingerprint()
        #expect(fingerprint.byteCount == 3)
        #expect(fingerprint.hexDigest == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        let large = try self.output("root:b", String(repeating: "0123456789abcdef", count: 50_000))
        let sum = try Run.program("sha256sum", ["/proc/\(getpid())/fd/\(large.descriptor)"]).checked().outputText
        #expect(sum.hasPrefix(try large.fingerprint().hexDigest))
        #expect(
            try self.output("root:c", "").fingerprint().hexDigest
                == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        )
    }

    @Test(arguments: [true, false], bothModes)
    func groupIsPublishedWhole(together: Bool, hidden: Bool) throws {
        var group = OutputGroup()
        var orders: [PublishOrder] = []
        for job in 0..<20 {
            let place = try Location("root:\(job % 3)/\(job).wav")
            let output = try output("\(place)", "content \(job)", hidden: hidden)
            let fingerprint = try output.fingerprint()
            let attempt = AttemptName(job: Int64(job), epoch: 1, lease: UInt128(job))
            group.add(output, as: attempt, with: fingerprint)
            orders.append(PublishOrder(of: attempt, to: place, with: fingerprint, onConflict: .fail))
        }
        for result in group.link(durably: true, together: together) { try result.get() }
        #expect(!FileManager.default.fileExists(atPath: folder.path("0/0.wav")))
        #expect(Set(roots.publish(orders).map(word)) == ["published"])
        for job in 0..<20 { #expect(try text(folder.path("\(job % 3)/\(job).wav")) == "content \(job)") }
        #expect(try FileManager.default.subpathsOfDirectory(atPath: folder.path).count == 23)
        // A repeated order changes nothing.
        #expect(Set(roots.publish(orders).map(word)) == ["adopted"])
    }

    @Test func droppedGroupLeavesNothing() throws {
        for hidden in bothModes {
            var group = OutputGroup()
            let output = try output("root:a", "a", hidden: hidden)
            let fingerprint = try output.fingerprint()
            group.add(output, as: AttemptName(job: 1, epoch: 1, lease: 1), with: fingerprint)
        }
        #expect(try folder.names() == [])
    }

    @Test func attemptThatIsLinkedAlreadyIsAdoptedOrInConflict() throws {
        let attempt = AttemptName(job: 1, epoch: 1, lease: 1)
        for (bytes, code) in [("same", nil), ("same", nil), ("diff", FailureCode.attemptConflict)] {
            var group = OutputGroup()
            let output = try output("root:a", bytes)
            let fingerprint = try output.fingerprint()
            group.add(output, as: attempt, with: fingerprint)
            switch group.link()[0] {
            case .success: #expect(code == nil)
            case .failure(let error): #expect(error.code == code)
            }
        }
        #expect(try folder.names() == [attempt.fileName(for: "a")])
        #expect(try text(folder.path(attempt.fileName(for: "a"))) == "same")
    }

    // MARK: - Conflicts

    @Test func placeThatIsTakenIsLeftOrReplaced() throws {
        for (policy, outcome, after) in [
            (Recipe.ConflictPolicy.fail, "destination_exists", "they"), (.skip, "skipped", "they"),
            (.replace, "published", "ours"),
        ] {
            let order = try linked("root:\(policy)", "ours", policy)
            try Bytes.write(Array("they".utf8), to: folder.path("\(policy)"))
            #expect(word(roots.publish([order])[0]) == outcome)
            #expect(try text(folder.path("\(policy)")) == after)
            // A repeated order gives the same result.
            let again = word(roots.publish([order])[0])
            #expect(again == (policy == .replace ? "adopted" : outcome))
        }
        #expect(try folder.names() == ["fail", "replace", "skip"])
    }

    @Test(arguments: Recipe.ConflictPolicy.allCases)
    func sameBytesInThePlaceAreAdopted(policy: Recipe.ConflictPolicy) throws {
        let order = try linked("root:a", "same", policy)
        try Bytes.write(Array("same".utf8), to: folder.path("a"))
        #expect(word(roots.publish([order])[0]) == (policy == .replace ? "published" : "adopted"))
        #expect(try folder.names() == ["a"])
    }

    @Test func lostAttemptIsNamed() throws {
        let order = try linked("root:a", "bytes")
        try roots.discard(order.attempt, of: order.location)
        #expect(word(roots.publish([order])[0]) == "attempt_lost")
        try roots.discard(order.attempt, of: order.location)
    }

    @Test func attemptOfAnotherLengthIsNotPublished() throws {
        let order = try linked("root:a", "bytes")
        try Bytes.write(Array("longer bytes".utf8), to: folder.path(order.attempt.fileName(for: "a")))
        #expect(word(roots.publish([order])[0]) == "attempt_conflict")
        #expect(!FileManager.default.fileExists(atPath: folder.path("a")))
    }

    @Test func oneFailureDoesNotStopTheOthers() throws {
        let good = try linked("root:good/a", "a")
        let lost = try linked("root:lost/b", "b")
        try FileManager.default.removeItem(atPath: folder.path("lost"))
        let foreign = PublishOrder(
            of: lost.attempt,
            to: try Location("other:x"),
            with: lost.fingerprint,
            onConflict: .fail
        )
        let words = roots.publish([lost, foreign, good]).map(word)
        #expect(words == ["folder_not_found", "unknown_root", "published"])
    }

    @Test(arguments: Recipe.ConflictPolicy.allCases)
    func twoWhoCarryOutTheSameOrdersAgree(policy: Recipe.ConflictPolicy) throws {
        for round in 0..<30 {
            let orders = try (0..<4).map { try linked("root:\(policy)-\(round)-\($0)", "x", policy, job: Int64($0)) }
            let outcomes = Outcomes()
            let roots = roots
            inThreads(2) { _ in
                for result in roots.publish(orders, durably: false) { outcomes.note { try result.get().rawValue } }
            }
            #expect(outcomes.counts == ["published": 4, "adopted": 4])
        }
        #expect(try folder.names().count == 120)
    }

    /// A zombie's file has its own name, and its order finds the output that its successor has published.
    @Test func zombieCannotTouchWhatItsSuccessorPublished() throws {
        let zombie = try linked("root:a", "zombie")
        let successor = try linked("root:a", "successor")
        #expect(word(roots.publish([successor])[0]) == "published")
        #expect(word(roots.publish([zombie])[0]) == "destination_exists")
        #expect(try text(folder.path("a")) == "successor")
        #expect(try folder.names() == ["a"])
    }

    // MARK: - Orphans

    @Test func attemptNamesAreReadBack() {
        for name in ["a", "x-1-2", ".sluice-1-2-3.attempt", String(repeating: "ö-", count: 90)] {
            for attempt in [
                AttemptName(job: 1, epoch: 2, lease: 3), AttemptName(job: .max, epoch: .max, lease: .max),
            ] {
                #expect(AttemptName(fileName: attempt.fileName(for: name)) == attempt)
                #expect(attempt.fileName(for: name).utf8.count <= 255)
            }
        }
        for name in ["a", ".a.attempt", ".a.sluice-1.part", ".a.sluice-1-2-3.attempt", "sluice-1-2-3.attempt"] {
            #expect(AttemptName(fileName: name) == nil)
        }
    }

    @Test func sweepTakesOnlyTheOldAndDead() throws {
        let dead = try linked("root:dead.wav", "1", job: 1)
        let alive = try linked("root:alive.wav", "2", job: 2)
        let unfinished = try output("root:unfinished.wav", "3", hidden: true)
        try Bytes.write(Array("4".utf8), to: folder.path(".orphan.wav.sluice-r1f.part"))
        let strangers = [".bashrc", ".a.sluice-x.part", ".a.part", ".b.sluice-1-2.attempt", "song.sluice-1.part"]
        for name in strangers { try Bytes.write([], to: folder.path(name)) }
        let now = Int64(time(nil))
        let before = try folder.names()

        // One hour has passed, but an attempt's file must be two hours old; only the file without any owner is
        // removed.
        let early = try root.sweep(folder: "", olderThan: .seconds(7200), now: now + 3600) { _ in false }
        #expect(early == [".orphan.wav.sluice-r1f.part"])
        let late = try root.sweep(folder: "", olderThan: .seconds(3600), now: now + 3700) { $0 == alive.attempt }
        #expect(late == [dead.attempt.fileName(for: "dead.wav")])
        let gone = early + late
        #expect(try folder.names() == before.filter { !gone.contains($0) })
        #expect(try unfinished.publish() == .published)
        #expect(word(roots.publish([alive])[0]) == "published")
    }

    /// The holder of a job's lease removes the files of the job's earlier attempts, which are over, and no other files.
    @Test func earlierAttemptsAreRemovedAndNoOthers() throws {
        let ledger: UInt128 = 7 << 96
        let mine = AttemptName(job: 1, epoch: 3, lease: ledger | 1)
        let earlier = AttemptName(job: 1, epoch: 2, lease: ledger | 2)
        let others = [
            mine, AttemptName(job: 1, epoch: 4, lease: ledger | 2), AttemptName(job: 2, epoch: 1, lease: ledger | 2),
            AttemptName(job: 1, epoch: 1, lease: 8 << 96 | 2),
        ].map { $0.fileName(for: "a") }
        for name in others + [earlier.fileName(for: "a")] { try Bytes.write([], to: folder.path(name)) }
        #expect(try root.removeEarlier(than: mine, of: Location("root:a")) == 1)
        #expect(try folder.names() == others.sorted())
    }
}
