import Foundation
import Glibc
import TestSupport
import Testing

@testable import LocalCluster

/// The folders that a private cluster may use if it was given none.
struct ClusterRootsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func roots(home: String) throws -> [String] {
        try ClusterPlace(environment: ["XDG_DATA_HOME": folder.path("data"), "HOME": home]).usualRoots
    }

    @Test func aNewOneUsesTheHome() throws {
        #expect(try roots(home: folder.path) == ["local=\(folder.path)"])
        let account = try #require(getpwuid(geteuid()))
        let home = String(cString: account.pointee.pw_dir)
        let expected = FileManager.default.fileExists(atPath: home) ? ["local=\(home)"] : []
        for wrong in ["", "relative", folder.path("nowhere")] {
            #expect(try roots(home: wrong) == expected, "\(wrong)")
        }
    }

    @Test func oneOfAnEarlierReleaseUsesTheWholeMachine() throws {
        let data = folder.path("data/sluice/postgres")
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
        #expect(try roots(home: folder.path) == ["local=/"])
    }

    @Test func aCommandWaitsForTheSlotsAndRootsThatItAsksFor() {
        var state = ClusterState()
        state.roots = ["local=/home/ada"]
        // The worker starts.
        #expect(!state.has(nil, nil))
        state.slots = 2
        #expect(state.has(nil, nil) && state.has(2, nil) && state.has(2, ["local=/home/ada"]))
        #expect(!state.has(3, nil) && !state.has(nil, ["local=/"]))
        // The supervisor of an earlier release serves no page.
        #expect(state.has(2, nil, nil) && !state.has(nil, nil, ClusterPage()))
        state.page = ClusterPage(port: 8080)
        #expect(state.has(2, nil, ClusterPage(port: 8080)) && !state.has(2, nil, ClusterPage(isServed: false)))
    }
}
