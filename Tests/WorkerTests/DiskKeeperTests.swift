import Testing

@testable import Storage
@testable import Worker

struct DiskKeeperTests {
    private let keeper = DiskKeeper(WorkerConfiguration())

    private static func facts(free: UInt64, device: UInt64 = 1) -> FileSystemFacts {
        FileSystemFacts(device: device, mountPoint: "/disk", freeBytes: free, byteCount: 1 << 40, isOutOfNames: false)
    }

    /// An operator freed space between the failed write and the check of the file system.
    @Test func aJobIsNotBlamedForAFileSystemThatWasFullAMomentAgo() {
        #expect(keeper.lacksSpace(Self.facts(free: 0), for: 1))
        #expect(keeper.lacksSpace(Self.facts(free: 1 << 39), for: 2))
    }

    @Test func aJobThatWantsMoreThanThereIsIsAloneWithThat() {
        #expect(keeper.lacksSpace(Self.facts(free: 0, device: 2), for: 1))
        #expect(!keeper.lacksSpace(Self.facts(free: 1 << 39), for: 2))
        #expect(!keeper.lacksSpace(Self.facts(free: 1 << 39), for: 2))
        #expect(keeper.lacksSpace(Self.facts(free: 1 << 39), for: 3))
    }
}
