import Conversion
import Foundation
import Storage
import TestSupport
import Testing

/// Jobs with several outputs: all of them are linked, and then published, or none.
struct JobOutputsTests {
    let folder: TemporaryFolder
    let root: StorageRoot
    let roots: StorageRoots

    init() throws {
        folder = try TemporaryFolder.create()
        root = try StorageRoot.open(name: "root", path: folder.path)
        roots = try StorageRoots([root])
    }

    /// Links the outputs of a job in one group, and returns the orders to publish them.
    private func linked(
        _ places: [String],
        _ policy: Recipe.ConflictPolicy = .fail,
        job: Int64 = 1
    ) throws -> [PublishOrder] {
        var group = OutputGroup()
        let orders = try add(places, policy, job: job, to: &group)
        for result in group.link(durably: false) { try result.get() }
        return orders
    }

    private func add(
        _ places: [String],
        _ policy: Recipe.ConflictPolicy = .fail,
        job: Int64,
        to group: inout OutputGroup
    ) throws -> [PublishOrder] {
        let attempt = AttemptName(job: job, epoch: 1, lease: UInt128(job))
        var set = OutputSet()
        for place in places {
            switch try root.prepareOutput(at: Location(place), onConflict: policy) {
            case .skipped: throw SupportError("prepare \(place)", "it was skipped")
            case .ready(let output):
                let bytes = Array(place.utf8)
                guard write(output.descriptor, bytes, bytes.count) == bytes.count else {
                    throw SupportError("write \(place)", errno: errno)
                }
                set.add(output)
            }
        }
        var fingerprints: [Fingerprint] = []
        for index in places.indices { fingerprints.append(try set.fingerprint(index)) }
        group.add(set, as: attempt, with: fingerprints)
        return try zip(places, fingerprints).map {
            PublishOrder(of: attempt, to: try Location($0), with: $1, onConflict: policy)
        }
    }

    private func text(_ name: String) throws -> String {
        String(decoding: try Bytes.read(folder.path(name)), as: UTF8.self)
    }

    @Test func allOutputsGetTheirNames() throws {
        let orders = try linked(["root:a", "root:b", "root:below/c"])
        #expect(try roots.publish([orders])[0].get() == [.published, .published, .published])
        for name in ["a", "b", "below/c"] { #expect(try text(name) == "root:\(name)") }
        #expect(try FileManager.default.subpathsOfDirectory(atPath: folder.path).count == 4)
        #expect(try roots.publish([orders])[0].get() == [.adopted, .adopted, .adopted])
    }

    /// A process was killed between two names; another one carries the orders out.
    @Test func whatAKillLeavesIsFinished() throws {
        let orders = try linked(["root:a", "root:b", "root:c"])
        #expect(try roots.publish([orders[1]])[0].get() == .published)
        #expect(try roots.publish([orders])[0].get() == [.published, .adopted, .published])
        #expect(try folder.names() == ["a", "b", "c"])
    }

    @Test(arguments: 0..<3)
    func anObstacleStopsAllOutputs(obstacle: Int) throws {
        let names = ["a", "b", "c"]
        let orders = try linked(names.map { "root:\($0)" })
        try Bytes.write(Array("they".utf8), to: folder.path(names[obstacle]))
        let other = try linked(["root:x", "root:y"], job: 2)
        let results = roots.publish([orders, other])
        #expect(throws: StorageError.self) { try results[0].get() }
        #expect(try results[1].get() == [.published, .published])
        #expect(try text(names[obstacle]) == "they")
        for name in names where name != names[obstacle] {
            #expect(!FileManager.default.fileExists(atPath: folder.path(name)), "\(name) has its name")
        }
    }

    @Test func aFolderAtADestinationStopsAReplacement() throws {
        try Bytes.write(Array("old".utf8), to: folder.path("a"))
        let orders = try linked(["root:a", "root:b"], .replace)
        try FileManager.default.createDirectory(atPath: folder.path("b"), withIntermediateDirectories: false)
        #expect(throws: StorageError.self) { try roots.publish([orders])[0].get() }
        #expect(try text("a") == "old")
    }

    @Test func destinationsThatExistAreLeftAloneOneByOne() throws {
        let orders = try linked(["root:a", "root:b"], .skip)
        try Bytes.write(Array("they".utf8), to: folder.path("a"))
        #expect(try roots.publish([orders])[0].get() == [.skipped, .published])
        #expect(try roots.publish([orders])[0].get() == [.skipped, .adopted])
        #expect(try folder.names() == ["a", "b"])
        #expect(try text("a") == "they")
    }

    @Test func aFileThatIsLostLeavesTheOthersWithoutTheirNames() throws {
        let orders = try linked(["root:a", "root:b"])
        try roots.discard(orders[1].attempt, of: orders[1].location)
        #expect(throws: StorageError.self) { try roots.publish([orders])[0].get() }
        #expect(!FileManager.default.fileExists(atPath: folder.path("a")))
    }

    @Test func aJobOfWhichOneOutputCannotBeLinkedKeepsNone() throws {
        var group = OutputGroup()
        let failing = try add(["root:a", "root:b"], job: 1, to: &group)
        let good = try add(["root:c", "root:d"], job: 2, to: &group)
        // The attempt's name of the second output is taken.
        try Bytes.write([1], to: folder.path(failing[1].attempt.fileName(for: "b")))
        let results = group.link()
        #expect(throws: StorageError.self) { try results[0].get() }
        try results[1].get()
        #expect(
            try folder.names()
                == [
                    failing[1].attempt.fileName(for: "b"), good[0].attempt.fileName(for: "c"),
                    good[1].attempt.fileName(for: "d"),
                ].sorted()
        )
    }

    @Test(arguments: Recipe.ConflictPolicy.allCases)
    func twoWhoCarryOutTheSameOrdersAgree(policy: Recipe.ConflictPolicy) throws {
        for round in 0..<30 {
            let jobs = try (0..<3).map { job in
                try linked(
                    (0..<3).map { "root:\(policy)-\(round)-\(job)-\($0)" },
                    policy,
                    job: Int64(round * 3 + job)
                )
            }
            let outcomes = Outcomes()
            let roots = roots
            inThreads(2) { _ in
                for result in roots.publish(jobs, durably: false) {
                    switch result {
                    case .success(let each): for outcome in each { outcomes.note { outcome.rawValue } }
                    case .failure(let error): outcomes.note { error.code.rawValue }
                    }
                }
            }
            #expect(outcomes.counts == ["published": 9, "adopted": 9])
        }
    }
}
