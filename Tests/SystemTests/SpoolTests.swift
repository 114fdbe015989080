import Foundation
import System
import TestSupport
import Testing

/// Bytes that wait in memory or in a file without a name.
struct SpoolTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func bytes(of spool: Spool) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try spool.read { bytes += $0 }
        return bytes
    }

    @Test(arguments: [0, 1, 999, 1_000, 1_001, 700_000])
    func whatWasAddedIsReadInItsOrderAndAgain(count: Int) throws {
        let spool = Spool(folder: folder.path("."), memoryBytes: 1_000)
        let wanted = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var rest = wanted[...]
        while !rest.isEmpty {
            try spool.append(Array(rest.prefix(333)))
            rest = rest.dropFirst(333)
        }
        #expect(spool.count == Int64(count))
        #expect(try bytes(of: spool) == wanted)
        #expect(try bytes(of: spool) == wanted)
    }

    @Test func theFileHasNoName() throws {
        let spool = Spool(folder: folder.path("."), memoryBytes: 0)
        try spool.append([1, 2, 3])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path(".")).isEmpty)
        #expect(try bytes(of: spool) == [1, 2, 3])
    }

    @Test func aFolderThatIsNotThereIsAnErrorOnlyOnceItIsNeeded() throws {
        let spool = Spool(folder: folder.path("missing"), memoryBytes: 10)
        try spool.append([1])
        #expect(throws: SystemError.self) { try spool.append(Array(repeating: 0, count: 20)) }
    }
}
