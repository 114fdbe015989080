import Conversion
import Foundation
import Storage
import TestSupport
import Testing

/// A job recognises its own output and no other file.
struct OutputOwnerTests {
    let folder: TemporaryFolder
    let root: StorageRoot
    let roots: StorageRoots
    private static let ledger: UInt128 = 0xAB12_CD34 << 96

    init() throws {
        folder = try TemporaryFolder.create()
        root = try StorageRoot.open(name: "root", path: folder.path)
        roots = try StorageRoots([root])
    }

    private static func attempt(_ job: Int64 = 7, epoch: Int64 = 1, of ledger: UInt128 = Self.ledger) -> AttemptName {
        AttemptName(job: job, epoch: epoch, lease: ledger | .random(in: 1..<1 << 96))
    }

    /// Links and marks an output of a job. Returns the order to publish it.
    private func linked(_ bytes: String, as attempt: AttemptName = attempt()) throws -> PublishOrder {
        let place = try Location("root:a.wav")
        switch try root.prepareOutput(at: place, onConflict: .fail, mayExist: true) {
        case .skipped: throw SupportError("prepare \(place)", "it was skipped")
        case .ready(let output):
            let content = Array(bytes.utf8)
            guard write(output.descriptor, content, content.count) == content.count else {
                throw SupportError("write \(place)", errno: errno)
            }
            let fingerprint = try output.fingerprint()
            var group = OutputGroup()
            group.add(output, as: attempt, with: fingerprint, madeOf: 99)
            for result in group.link(durably: false) { try result.get() }
            return PublishOrder(of: attempt, to: place, with: fingerprint, onConflict: .fail)
        }
    }

    @discardableResult
    private func published(_ bytes: String = "sound") throws -> Fingerprint {
        let order = try linked(bytes)
        #expect(try roots.publish([order])[0].get() == .published)
        return order.fingerprint
    }

    private func owner(_ name: String = "a.wav", for attempt: AttemptName = attempt(), of work: UInt64 = 99) throws
        -> OutputOwner
    { try root.owner(of: Location("root:\(name)"), for: attempt, madeOf: work) }

    @Test func outputIsKnownByItsJobWhateverAttemptMadeIt() throws {
        let fingerprint = try published()
        #expect(try owner() == .job(fingerprint))
        #expect(try owner(for: Self.attempt(epoch: 9)) == .job(fingerprint))
        // A moved file keeps its mark.
        try FileManager.default.createDirectory(atPath: folder.path("b"), withIntermediateDirectories: false)
        #expect(rename(folder.path("a.wav"), folder.path("b/a.wav")) == 0)
        #expect(try owner("b/a.wav") == .job(fingerprint))
    }

    @Test func aFileOfAnotherOwnerIsNotTheJobs() throws {
        try published()
        #expect(try owner(for: Self.attempt(8)) == .other, "another job")
        #expect(try owner(for: Self.attempt(of: 0xAB12_CD35 << 96)) == .other, "another ledger")
        // A failover that loses a submission gives its job numbers out again. Then only the bytes show whose
        // output it is.
        #expect(try owner(of: 98) == .unknown, "another recipe or source")
        try Bytes.write(Array("sound".utf8), to: folder.path("theirs.wav"))
        #expect(try owner("theirs.wav") == .other, "the same bytes without a mark")
        #expect(symlink("a.wav", folder.path("link.wav")) == 0)
        #expect(try owner("link.wav") == .other)
        try FileManager.default.createDirectory(atPath: folder.path("folder.wav"), withIntermediateDirectories: false)
        #expect(try owner("folder.wav") == .other)
        #expect(mkfifo(folder.path("pipe.wav"), 0o600) == 0)
        #expect(try owner("pipe.wav") == .other)
        #expect(try owner("free.wav") == .unknown)
        #expect(link(folder.path("a.wav"), folder.path("hard.wav")) == 0)
        #expect(try owner() == .other, "a file with a second name")
    }

    @Test(arguments: ["sounD", "soun", "sound and more", ""])
    func outputThatWasChangedIsNoLongerTheJobs(_ content: String) throws {
        try published()
        let file = try #require(FileHandle(forUpdatingAtPath: folder.path("a.wav")))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: Data(content.utf8))
        try file.close()
        #expect(try owner() == .other)
    }

    @Test(.enabled(if: getuid() == 0, "only root gives files away"))
    func markInAFileOfAnotherUserIsNotTrusted() throws {
        try published()
        #expect(chown(folder.path("a.wav"), 65_534, 65_534) == 0)
        #expect(try owner() == .unknown)
    }

    @Test func markThatIsNoneIsRefused() throws {
        let fingerprint = try published()
        let good = try #require(try Attribute.read(folder.path("a.wav")))
        #expect(good.count == 64, "it fits into an inode of ext4")
        try Attribute.write(good, to: folder.path("a.wav"))
        #expect(try owner() == .job(fingerprint))
        var negative = good
        negative[8] = 0x80
        var version = good
        version[3] += 1
        let flipped = good.indices.filter { $0 < 16 || $0 >= 24 }.map { place in
            var bytes = good
            bytes[place] ^= 1
            return bytes
        }
        let others = [[], Array(good.dropLast()), good + [0], [UInt8](repeating: 0, count: 64), negative, version]
        for bytes in others + flipped {
            try Attribute.write(bytes, to: folder.path("a.wav"))
            #expect(try owner() == .other, "\(bytes)")
        }
    }

    @Test func sameBytesOfAnotherJobAreNotAdoptedWhenPublishing() throws {
        try published()
        let order = try linked("sound", as: Self.attempt(8))
        #expect(word(roots.publish([order])[0]) == "destination_exists")
        #expect(try folder.names() == ["a.wav"])
        #expect(word(roots.publish([try linked("sound")])[0]) == "adopted")
        #expect(try folder.names() == ["a.wav"])
    }

    /// Without marks the job makes its output again and compares the bytes.
    @Test(.enabled(if: Attributeless.isPossible, "no ramfs can be mounted here"))
    func withoutMarksTheBytesTell() throws {
        try Attributeless.mount(at: folder.path)
        defer { Attributeless.unmount(folder.path) }
        let root = try StorageRoot.open(name: "root", path: folder.path)
        let lab = Self(folder: folder, root: root, roots: try StorageRoots([root]))
        try lab.published()
        #expect(try Attribute.read(folder.path("a.wav")) == nil)
        #expect(try lab.owner() == .unknown)
        #expect(link(folder.path("a.wav"), folder.path("hard.wav")) == 0)
        #expect(try lab.owner() == .other)
        #expect(unlink(folder.path("hard.wav")) == 0)
        #expect(word(lab.roots.publish([try lab.linked("other", as: Self.attempt())])[0]) == "destination_exists")
        #expect(word(lab.roots.publish([try lab.linked("sound", as: Self.attempt())])[0]) == "adopted")
        #expect(try folder.names() == ["a.wav"])
    }

    private init(folder: TemporaryFolder, root: StorageRoot, roots: StorageRoots) {
        (self.folder, self.root, self.roots) = (folder, root, roots)
    }
}
