import Conversion
import Glibc
import TestSupport
import Testing

@testable import Storage

/// A sealed output has no writer left, and publishing works as usual.
struct SealingTests {
    let folder: TemporaryFolder
    let path: String

    init() throws {
        folder = try TemporaryFolder.create()
        path = folder.path("out.wav")
    }

    /// Whether the output can be sealed, and whether a writer is left.
    private func state(_ output: borrowing OutputFile) -> [Bool?] { [output.canBeSealed, output.seal()] }

    @Test(arguments: bothModes, Recipe.ConflictPolicy.allCases)
    func sealedOutputIsPublished(hidden: Bool, policy: Recipe.ConflictPolicy) throws {
        if policy == .replace { try Bytes.write(Array("old".utf8), to: path) }
        let output = try ready(path, policy, mustBeHidden: hidden)
        #expect(state(output) == [true, false])
        #expect(state(output) == [true, false])
        #expect(write(output.descriptor, "x", 1) == -1 && errno == EBADF)
        #expect(try output.written() == WrittenBytes(byteCount: 3, hasHoles: false))
        #expect(try output.fingerprint().byteCount == 3)
        #expect(try output.publish() == .published)
        #expect(try text(path) == "new")
        #expect(try folder.names() == ["out.wav"])
    }

    @Test(arguments: bothModes) func sealedOutputsAreMarkedAndLinked(hidden: Bool) throws {
        let output = try ready(path, mustBeHidden: hidden)
        #expect(output.seal() == false)
        let fingerprint = try output.fingerprint()
        let attempt = AttemptName(job: 5, epoch: 1, lease: 7)
        var group = OutputGroup()
        group.add(output, as: attempt, with: fingerprint, madeOf: 9)
        for result in group.link() { try result.get() }
        let linked = folder.path(attempt.fileName(for: "out.wav"))
        #expect(try text(linked) == "new")
        let file = try OpenFile.reading(linked)
        #expect(
            OutputMark.read(from: file.descriptor)
                == .mark(
                    OutputMark(ledger: attempt.ledger, job: 5, work: 9, fingerprint: fingerprint)
                )
        )
    }

    @Test(arguments: bothModes) func duplicateIsAWriter(hidden: Bool) throws {
        let output = try ready(path, mustBeHidden: hidden)
        let kept = dup(output.descriptor)
        #expect(output.seal() == true)
        #expect(output.seal() == true)
        close(kept)
        #expect(output.seal() == false)
    }

    @Test func mappingIsAWriterThoughItsDescriptorIsClosed() throws {
        let output = try ready(path)
        let mapped = mmap(nil, 3, PROT_READ | PROT_WRITE, MAP_SHARED, output.descriptor, 0)
        try #require(mapped != MAP_FAILED)
        #expect(output.seal() == true)
        munmap(mapped, 3)
        #expect(output.seal() == false)
    }

    @Test func readerIsNoWriter() throws {
        let output = try ready(path)
        let reader = try OpenFile.reading("/proc/self/fd/\(output.descriptor)")
        #expect(withExtendedLifetime(reader) { output.seal() } == false)
    }

    /// `seal` holds a read lease only for a moment, so a later open for writing is not held up. An open during
    /// that moment makes the kernel signal this process, and the signal must not end it.
    @Test func openingToWriteAfterwardsIsNotHeldUp() throws {
        let output = try ready(path)
        #expect(output.seal() == false)
        let writer = open("/proc/self/fd/\(output.descriptor)", O_RDWR | O_NONBLOCK | O_CLOEXEC)
        #expect(writer >= 0)
        #expect(output.seal() == true)
        close(writer)
    }

    @Test(arguments: bothModes) func sealedOutputStaysLocked(hidden: Bool) throws {
        let output = try ready(path, mustBeHidden: hidden)
        #expect(output.seal() == false)
        let other = try OpenFile.reading("/proc/self/fd/\(output.descriptor)")
        #expect(flock(other.descriptor, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK)
    }

    @Test func holesAreSeen() throws {
        let output = try ready(path, holding: [UInt8](repeating: 0, count: 100_000))
        // Zeros that were written are not holes.
        #expect(try output.written() == WrittenBytes(byteCount: 100_000, hasHoles: false))
        let isTold = FileSystemKind.of(output.descriptor).tellsHoles
        try #require(ftruncate(output.descriptor, 1 << 32) == 0)
        #expect(try output.written() == WrittenBytes(byteCount: 1 << 32, hasHoles: isTold))
    }

    @Test func emptyOutputHasNoHoles() throws {
        #expect(try ready(path, holding: []).written() == WrittenBytes(byteCount: 0, hasHoles: false))
    }
}
