import Foundation
import TestSupport
import Testing

@testable import LocalCluster

/// The logs of the private cluster are bounded in size, and rotation loses no line.
@Suite(.serialized)
struct LogRotationTests {
    @Test func aFileThatIsTooLongMovesUpAndTheOldestGoes() throws {
        let folder = try TemporaryFolder.create()
        let log = PartLog(path: folder.path("a.log"), limit: 5_000)
        for number in 0..<6 {
            try Bytes.write(Array(repeating: UInt8(ascii: "0") + UInt8(number), count: 5_000), to: log.path)
            log.rotate()
        }
        #expect(try folder.names() == ["a.log.1", "a.log.2", "a.log.3"])
        #expect(try Bytes.read(folder.path("a.log.1")).first == UInt8(ascii: "5"))
        #expect(try Bytes.read(folder.path("a.log.3")).first == UInt8(ascii: "3"))
        try Bytes.write([1], to: log.path)
        log.rotate()
        #expect(try folder.names().contains("a.log"))
    }

    @Test func logsOfARunningClusterAreRotatedWithoutALine() throws {
        let folder = try TemporaryFolder.create()
        try #require(chmod(folder.path, 0o711) == 0)
        let environment = ["XDG_DATA_HOME": folder.path, "SLUICE_LOG_BYTES": "20000"]
        func run(_ words: String...) throws -> Run { try Sluice.run(words, in: folder, environment: environment) }
        defer { _ = try? run("down") }
        struct Facts: Decodable { let processes: [String: Int32] }
        let before = try JSONDecoder().decode(Facts.self, from: run("up", "--json").checked().stdout)
        try FileManager.default.createDirectory(atPath: folder.path("in"), withIntermediateDirectories: true)
        for number in 0..<25 { try Bytes.write([], to: folder.path("in/\(number).wav")) }
        let logs = folder.path("sluice/log")
        func names(_ start: String, in place: String = "") throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: logs + place).filter { $0.hasPrefix(start) }.sorted()
        }
        // Each wave writes about 25 lines of about 400 bytes. Its failed jobs are not retried.
        var waves = 0
        while try !names("worker.log").contains("worker.log.3"), waves < 12 {
            waves += 1
            let done = try run("submit", "-r", "in", "--to", "out/{stem}.flac", "--again", "--wait")
            #expect(done.status == .exited(3), "\(done.errorText)")
            // The supervisor checks the sizes every five seconds.
            let isRotated = try EventWait.until(.now + .seconds(300), changesOf: [logs]) {
                (FileManager.default.contents(atPath: logs + "/worker.log")?.count ?? 0) < 20_000
            }
            try #require(isRotated)
        }
        #expect(try names("worker.log").contains("worker.log.3"))
        var jobs: [Int] = []
        for name in try names("worker.log") {
            let text = try String(contentsOfFile: "\(logs)/\(name)", encoding: .utf8)
            #expect(text.utf8.count < 60_000, "\(name)")
            for line in text.split(separator: "\n") {
                let fields = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
                if let job = fields["job"] as? Int { jobs.append(job) }
            }
        }
        #expect(jobs.sorted() == Array(1...(25 * waves)))
        let after = try JSONDecoder().decode(Facts.self, from: run("up", "--json").checked().stdout)
        #expect(after.processes == before.processes)
    }

    @Test func theServersOwnLogIsBoundedToo() throws {
        let folder = try TemporaryFolder.create()
        try #require(chmod(folder.path, 0o711) == 0)
        let environment = ["XDG_DATA_HOME": folder.path, "SLUICE_LOG_BYTES": "20480"]
        func run(_ words: String...) throws -> Run { try Sluice.run(words, in: folder, environment: environment) }
        defer { _ = try? run("down") }
        _ = try run("up").checked()
        let place = try ClusterPlace(environment: environment)
        func complain(_ numbers: Range<Int>) throws {
            let lines = numbers.map { "select 'marker-\($0);'::int;\n" }.joined()
            let address = "host='\(place.sockets)' user=sluice dbname=postgres"
            _ = try Run.program(
                PrivatePostgres.program("psql"),
                ["--no-psqlrc", "--quiet", address],
                input: .data(Data(lines.utf8)),
                environment: Sluice.environment()
            )
        }
        func logs() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: place.serverLogs).sorted()
        }
        try complain(0..<100)
        var text = ""
        let deadline = ContinuousClock.now + .seconds(600)
        _ = try EventWait.until(deadline, changesOf: [place.serverLogs]) {
            text = try logs().map { try String(contentsOfFile: "\(place.serverLogs)/\($0)", encoding: .utf8) }.joined()
            return text.contains("marker-99;")
        }
        for number in 0..<100 { #expect(text.contains("\"marker-\(number);\"")) }
        // Log files are named by the second. A file that fills within one second continues under its name.
        var (wave, names) = (1, Set<String>())
        while names.count < PartLog.generations + 2, ContinuousClock.now < deadline {
            try complain(wave * 1_000..<wave * 1_000 + 400)
            names.formUnion(try logs())
            wave += 1
        }
        _ = try EventWait.until(deadline, changesOf: [place.serverLogs]) {
            try logs().count <= PartLog.generations + 1
        }
        #expect(names.count > PartLog.generations + 1)
        #expect((2...PartLog.generations + 1).contains(try logs().count))
    }
}
