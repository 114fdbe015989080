import Conversion
import Foundation
import Storage
import TestSupport
import Testing

/// Files with a hidden name that the sweep must not remove.
struct OrphanTests {
    let folder: TemporaryFolder
    let path: String

    init() throws {
        folder = try TemporaryFolder.create()
        path = folder.path("out.wav")
    }

    private func hidden(_ slot: Int) -> String { folder.path(".out.wav.sluice-\(slot).part") }

    @Test func orphansAreRemovedInAnySlot() throws {
        for slot in [1, 5, 8] { try Bytes.write(Array("orphan".utf8), to: hidden(slot)) }
        try Bytes.write(Array("not in a slot".utf8), to: hidden(9))
        _ = try ready(path).publish()
        #expect(try folder.names() == [".out.wav.sluice-9.part", "out.wav"])
    }

    /// The full stop before a name stays a separate character, whatever the name begins with.
    @Test func attemptsAreKnownByTheirNamesWhateverThoseBeginWith() throws {
        let attempt = AttemptName(job: 7, epoch: 2, lease: 0xABC)
        for name in ["a.flac", "\u{301}a.flac", "-.flac", "\u{200D}"] {
            #expect(AttemptName(fileName: attempt.fileName(for: name)) == attempt, "\(name)")
        }
    }

    @Test(arguments: bothModes)
    func whatIsNotAnOrphanStays(mustBeHidden: Bool) throws {
        try #require(mkdir(hidden(1), 0o755) == 0)
        try #require(mkfifo(hidden(2), 0o600) == 0)
        try Bytes.write(Array("victim".utf8), to: folder.path("victim"))
        try #require(symlink("victim", hidden(3)) == 0)
        try Bytes.write(Array("in writing".utf8), to: hidden(4))
        let writer = try OpenFile.changing(hidden(4))
        try #require(flock(writer.descriptor, LOCK_EX) == 0)

        let before = try folder.names()
        try Bytes.write(Array("old".utf8), to: path)
        _ = try ready(path, .replace, mustBeHidden: mustBeHidden).publish()
        #expect(try text(path) == "new")
        #expect(Set(try folder.names()) == Set(before).union(["out.wav"]))
        #expect(try text(folder.path("victim")) == "victim")
        #expect(try text(hidden(4)) == "in writing")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away")) func filesOfOthersStay() throws {
        try Bytes.write(Array("theirs".utf8), to: hidden(1))
        try #require(chown(hidden(1), 12345, 12345) == 0)
        _ = try ready(path, mustBeHidden: true).publish()
        #expect(try text(hidden(1)) == "theirs")
    }

    @Test func moreWritersThanSlotsFindNames() throws {
        let one = try ready(path, .replace, mustBeHidden: true)
        for slot in 2...8 { try #require(mkdir(hidden(slot), 0o755) == 0) }
        let other = try ready(path, .replace, mustBeHidden: true, holding: Array("other".utf8))
        let random = try folder.names().filter { $0.hasPrefix(".out.wav.sluice-r") }
        #expect(random.count == 1)
        _ = try one.publish()
        _ = try other.publish()
        #expect(try text(path) == "other")
    }
}
