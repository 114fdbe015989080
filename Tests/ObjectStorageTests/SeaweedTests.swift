import Foundation
import Hashing
import ObjectStorage
import ObjectStores
import TestSupport
import Testing

/// Against a real store of another make, SeaweedFS, where `scripts/prepare python` has installed it.
@Suite(.enabled(if: SeaweedServer.isInstalled, "SeaweedFS is not installed: scripts/prepare python"))
struct SeaweedTests {
    @Test func whatIsWrittenIsReadListedAndKeptApart() throws {
        let server = try SeaweedServer()
        defer { withExtendedLifetime(server) {} }
        let client = server.client
        let folder = try TemporaryFolder.create()

        // Names, metadata, ranges.
        for key in ["a b", "ü/+&=?#%20", "~(')*!", "z"] {
            _ = try client.put(.bytes(Array(key.utf8)), as: key, condition: .absent, order: "o 1")
            let facts = try #require(try client.facts(of: key))
            #expect(facts.order == "o 1")
            #expect(facts.byteCount == Int64(key.utf8.count))
        }
        var list = ObjectList(client, prefix: "")
        var keys: [String] = []
        while let page = try list.next() { keys += page.map(\.key) }
        #expect(keys == ["a b", "z", "~(')*!", "ü/+&=?#%20"])

        // A large output in parts, whose head changes.
        let bytes = testBytes(12_345_678)
        var writer = ObjectWriter(
            client,
            key: "large",
            order: "o 2",
            sizes: PartSizes(fixed: PartSizes.shortest),
            folder: folder.path
        )
        try bytes.withUnsafeBytes { try writer.append($0) }
        let output = try writer.finish()
        #expect(output.sha256 == SHA256Hash.digest(of: bytes))
        #expect(try client.facts(of: "large") == nil)
        let publication = ObjectPublication(client)
        guard case .published(_, false) = try publication.publish(output, condition: .absent) else {
            Issue.record("it was not published")
            return
        }
        // Repeated after a lost answer.
        guard case .published(_, true) = try publication.publish(output, condition: .absent) else {
            Issue.record("it was not found again")
            return
        }
        let reader = try ObjectReader.open("large", in: client)
        #expect(try reader.allBytes(piece: 1 << 20) == bytes)

        // Uploads that were begun and not finished.
        let id = try client.beginUpload(to: "p/open", order: nil)
        #expect(
            try client.abortUploads(prefix: "p/", begunBefore: .now().advanced(by: .seconds(60))) { _ in false } == 1
        )
        #expect(throws: StoreError.self) { _ = try client.parts(of: id, to: "p/open") }

        // Several versions of it let several uploads to one name complete at once.
        let report = StoreExamination(client).run()
        #expect(report.lines.allSatisfy { $0.level != .failure })
        #expect(report.verdict == .exact || report.verdict == .putOnly)
    }
}

/// A SeaweedFS with an empty bucket, which ends with the last reference.
final class SeaweedServer: Sendable {
    private static let program = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../.build/python/bin/weed").standardizedFileURL.path
    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: program) }

    let client: StoreClient
    private let process: ChildProcess
    private let folder: TemporaryFolder

    init() throws {
        let folder = try TemporaryFolder.create()
        self.folder = folder
        let settings = """
            {"identities": [{"name": "test", "credentials": [{"accessKey": "KEY", "secretKey": "secret"}],
            "actions": ["Admin", "Read", "Write", "List"]}]}
            """
        try Data(settings.utf8).write(to: URL(fileURLWithPath: folder.path("s3.json")))
        try FileManager.default.createDirectory(atPath: folder.path("data"), withIntermediateDirectories: true)
        let ports = try Self.freePorts(8)
        let names = [
            "master", "master.port.grpc", "volume", "volume.port.grpc", "filer", "filer.port.grpc", "s3",
            "s3.port.grpc",
        ]
        let log = open(folder.path("log"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard log >= 0 else { throw SupportError("open the log", errno: errno) }
        defer { close(log) }
        process = try ChildProcess.spawn(
            Self.program,
            [
                "server", "-dir=\(folder.path("data"))", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-volume.max=20",
                "-master.volumeSizeLimitMB=64", "-s3", "-s3.port.iceberg=0", "-s3.config=\(folder.path("s3.json"))",
            ] + zip(names, ports).map { name, port in "-\(name.contains(".") ? name : name + ".port")=\(port)" },
            environment: nil,
            folder: folder.path,
            input: nil,
            output: log,
            errors: log
        )
        // It needs some seconds: until then the client is refused, and tries again.
        var patience = StoreClient.Patience()
        patience.attempts = 1_000
        patience.longestWait = .milliseconds(500)
        patience.deadline = .seconds(300)
        client = StoreClient(
            try BucketAddress("s3://bucket?endpoint=http://127.0.0.1:\(ports[6])"),
            credentials: CredentialProvider(fixed: StoreCredentials(keyID: "KEY", secret: "secret")),
            patience: patience
        )
        // If one of these throws, `deinit` ends the server.
        _ = try client.send(StoreCall("PUT", "", "create"))
        _ = try client.put(.bytes([1]), as: "first", condition: .none)
        try client.delete("first")
    }

    deinit { process.kill() }

    /// Ports that no program uses now.
    private static func freePorts(_ count: Int) throws -> [UInt16] {
        var sockets: [Int32] = []
        defer { for one in sockets { close(one) } }
        return try (0..<count).map { _ in
            let one = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            sockets.append(one)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isBound = withUnsafeMutablePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    bind(one, address, size) == 0 && getsockname(one, address, &size) == 0
                }
            }
            guard isBound else { throw SupportError("bind", errno: errno) }
            return UInt16(bigEndian: address.sin_port)
        }
    }
}
