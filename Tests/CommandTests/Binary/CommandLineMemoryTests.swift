import Foundation
import Ledger
import TestSupport
import Testing

/// What other users of the machine can see of a command's arguments.
struct CommandLineMemoryTests {
    private func words(_ process: pid_t) throws -> String {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: "/proc/\(process)/cmdline"))
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func aPasswordIsNotShownByPs() async throws {
        let bench = try LedgerBench()
        let jobs = try await bench.submit(2)
        try await bench.ledger.apply(.cancel, to: JobFilter(ids: [jobs[1]]))
        let address = try #require(bench.environment["SLUICE_DATABASE_URL"])
        let url = address + (address.contains("?") ? "&" : "?") + "password=hunter2"
        let following = try RunningSluice(
            ["jobs", "--follow", "--batch", "1", "-q", "--ended-since", "1h", "--database", url],
            in: bench.folder,
            keepsLoaded: false
        )
        try following.waitForOutput("\(jobs[1])\n")
        let seen = try words(following.id)
        #expect(seen.contains("\0--database\0"))
        #expect(seen.contains("password=***") && !seen.contains("hunter2"))
        try await bench.ledger.apply(.cancel, to: JobFilter(ids: jobs))
        try following.ends(with: .exited(0))
    }
}
