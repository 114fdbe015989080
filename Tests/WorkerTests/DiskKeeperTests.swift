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
        #expect(keeper.shortage(Self.facts(free: 0), of: 1) == .ofFileSystem)
        #expect(keeper.shortage(Self.facts(free: 1 << 39), of: 2) == .ofFileSystem)
    }

    /// The worker found space when it looked: only the job's error shows that there was none.
    @Test func aFileSystemThatWasFullBeforeItWasCheckedSpendsNoAttempt() {
        for job in 1...43 { #expect(keeper.shortage(Self.facts(free: 1 << 39), of: Int64(job)) == .over) }
    }

    @Test func aJobThatWantsMoreThanThereIsIsAloneWithThat() {
        #expect(keeper.shortage(Self.facts(free: 0, device: 2), of: 1) == .ofFileSystem)
        #expect(keeper.shortage(Self.facts(free: 1 << 39), of: 2) == .over)
        #expect(keeper.shortage(Self.facts(free: 1 << 39), of: 2) == .ofJob)
        #expect(keeper.shortage(Self.facts(free: 1 << 39), of: 2) == .ofJob)
        #expect(keeper.shortage(Self.facts(free: 1 << 39), of: 3) == .over)
        #expect(keeper.shortage(Self.facts(free: 1 << 39), of: 3) == .ofFileSystem)
    }
}
