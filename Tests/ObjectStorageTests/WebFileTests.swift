import Conversion
import Foundation
import ObjectStorage
import ObjectStores
import Synchronization
import TestSupport
import Testing

/// Reading files of web servers, with and without ranges, behind redirects, and of servers that lie.
struct WebFileTests {
    /// A server that has `bytes` as `/pre/a`.
    private final class Lab {
        let stub: WebStub
        let folder: TemporaryFolder
        let bytes: [UInt8]
        var entry: WebStub.Entry

        init(_ count: Int = 1_000_000) throws {
            (stub, folder) = (try WebStub(), try TemporaryFolder.create())
            bytes = testBytes(count)
            let path = folder.path("a")
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            entry = WebStub.Entry(file: path)
            try show()
        }

        /// Has the server use `entry`.
        func show(_ others: [String: WebStub.Entry] = [:]) throws {
            try stub.set(files: ["/pre/a": entry].merging(others) { $1 })
        }

        func open(
            _ path: String = "a",
            server: WebServer? = nil,
            limit: Int64 = ObjectReader.longestWhole
        ) throws -> ObjectReader {
            try ObjectReader.open(path, in: WebFile(try server ?? stub.server()), wholeLimit: limit)
        }

        func targets() throws -> [String] { try stub.requests().map(\.target) }
    }

    private func error(_ body: () throws -> Void) -> StoreError? {
        do {
            try body()
            return nil
        } catch { return error as? StoreError }
    }

    // MARK: - Ranges

    @Test(arguments: [1, ObjectReader.shortest, 5_000_001])
    func filesAreReadToTheirEnd(count: Int) throws {
        let lab = try Lab(count)
        let reader = try lab.open()
        #expect(try reader.allBytes() == lab.bytes)
        #expect(try reader.isUnchanged() && !reader.isWhole)
        let asked = try lab.stub.requests()
        #expect(asked.allSatisfy { $0.headers["accept-encoding"] == "identity" && $0.headers["authorization"] == nil })
        #expect(asked.dropFirst().dropLast().allSatisfy { $0.headers["if-match"] == "\"one\"" })
    }

    @Test(arguments: [true, false]) func anEmptyFileHasNoBytes(hasRanges: Bool) throws {
        let lab = try Lab(0)
        lab.entry.ranges = hasRanges
        try lab.show()
        let reader = try lab.open()
        #expect(try reader.facts.byteCount == 0 && reader.isUnchanged())
    }

    @Test func namesAreEncoded() throws {
        let lab = try Lab(10)
        let target = "/pre/a%20%23%3F%25/%C3%BC%2B.wav"
        try lab.show([target: lab.entry])
        #expect(try lab.open("a #?%/\u{FC}+.wav").allBytes() == lab.bytes)
        #expect(try lab.targets() == [target])
    }

    /// Without a strong ETag the time of the last change is compared.
    @Test(arguments: [nil, "W/\"one\""]) func aFileWithoutStrongETagIsPinnedByItsTime(etag: String?) throws {
        let lab = try Lab()
        lab.entry.etag = etag
        try lab.show()
        let reader = try lab.open()
        _ = try reader.bytes(at: 900_000, 10)
        let last = try #require(try lab.stub.requests().last)
        #expect(last.headers["if-match"] == nil)
        #expect(last.headers["if-unmodified-since"] == lab.entry.modified)
        #expect(try reader.isUnchanged())
        lab.entry.modified = "Mon, 01 Jan 2024 00:00:01 GMT"
        try lab.show()
        #expect(error { _ = try reader.bytes(at: 500_000, 10) }?.kind == .changed)
        #expect(try !reader.isUnchanged())
    }

    @Test func aFileWithNeitherIsComparedBySize() throws {
        let lab = try Lab()
        (lab.entry.etag, lab.entry.modified) = (nil, nil)
        try lab.show()
        let reader = try lab.open()
        #expect(try reader.allBytes() == lab.bytes && reader.isUnchanged())
        try Data(testBytes(999_999)).write(to: URL(fileURLWithPath: try #require(lab.entry.file)))
        #expect(try !reader.isUnchanged())
    }

    /// By its condition, by an ETag that the server sends although the condition fails, and because it is gone.
    @Test(arguments: [
        WebStub.Fault("GET", do: "status", status: 412), WebStub.Fault("GET", do: "other"),
        WebStub.Fault("GET", do: "status", status: 404), WebStub.Fault("GET", do: "total"),
    ])
    func aChangedFileIsNotReadOn(fault: WebStub.Fault) throws {
        let lab = try Lab()
        let reader = try lab.open()
        try lab.stub.set(faults: fault)
        #expect(error { _ = try reader.bytes(at: 900_000, 10) }?.kind == .changed)
    }

    // MARK: - Faults

    @Test func brokenAndWrongAnswersAreAskedForAgain() throws {
        let lab = try Lab(3_000_000)
        try lab.stub.set(
            faults: .init("GET", do: "truncate", times: 3, bytes: 50_000),
            .init("GET", do: "reset"),
            .init("GET", do: "status", status: 503),
            .init("GET", do: "shift", times: 2),
            .init("GET", do: "longer", times: 1, skip: 1)
        )
        #expect(try lab.open().allBytes() == lab.bytes)
    }

    @Test(arguments: ["shift", "longer"]) func aServerThatAnswersWronglyIsGivenUp(fault: String) throws {
        let lab = try Lab()
        try lab.stub.set(faults: .init("GET", do: fault, times: 1_000))
        let found = try #require(error { _ = try lab.open() })
        #expect(found.kind == .unexpectedAnswer && found.code(.source) == .sourceIO, "\(found)")
        #expect(try lab.targets().count == 3)
    }

    @Test func aRangeOfAnUnknownLengthIsNamed() throws {
        let lab = try Lab()
        let headers = ["Content-Range": "bytes 0-6/*"]
        try lab.stub.set(faults: .init("GET", do: "status", times: 10, status: 206, headers: headers))
        let found = try #require(error { _ = try lab.open() })
        #expect(found.kind == .unexpectedAnswer && found.detail.contains("how long the source is"), "\(found)")
    }

    /// However many bytes each of its answers brings.
    @Test func aServerThatBreaksOffAgainAndAgainIsGivenUp() throws {
        let lab = try Lab()
        try lab.stub.set(faults: .init("GET", do: "truncate", times: 1_000, bytes: 1_000))
        let file = WebFile(try lab.stub.server())
        let found = try #require(error { _ = try ObjectReader.open("a", in: file, timeLimit: .zero) })
        #expect(found.kind == .unexpectedAnswer && found.detail.contains("has not ended after"), "\(found)")
        #expect(try lab.targets() == ["/pre/a"])
    }

    @Test func statusesHaveKinds() throws {
        let kinds: [Int: StoreError.Kind] = [
            404: .noSuchObject, 410: .noSuchObject, 401: .accessDenied, 403: .accessDenied, 429: .unavailable,
            500: .unavailable, 504: .unavailable, 400: .refused,
        ]
        for (status, kind) in kinds {
            let lab = try Lab(10)
            try lab.stub.set(faults: .init("GET", do: "status", times: 1_000, status: status))
            #expect(error { _ = try lab.open() }?.kind == kind, "\(status)")
            #expect(try lab.targets().count == (kind == .unavailable ? 4 : 1), "\(status)")
        }
    }

    /// Up to 30 s.
    @Test(arguments: [("7", 7), ("4000", 30)])
    func theServerSaysHowLongToWait(text: String, seconds: Int) throws {
        let lab = try Lab(10)
        let waited = Mutex(Duration.zero)
        let server = try lab.stub.server { duration in waited.withLock { $0 += duration } }
        try lab.stub.set(faults: .init("GET", do: "status", status: 429, headers: ["Retry-After": text]))
        #expect(try lab.open(server: server).allBytes() == lab.bytes)
        #expect(waited.withLock { $0 } == .seconds(seconds))
    }

    @Test func anEncodedFileIsRefused() throws {
        let lab = try Lab()
        lab.entry.headers = ["Content-Encoding": "gzip"]
        try lab.show()
        let found = try #require(error { _ = try lab.open() })
        #expect(found.kind == .notServed && found.detail.contains("encoding gzip"), "\(found)")
        #expect(found.code(.source) == .sourceNotServed)
    }

    /// Then nothing tells whether the file has changed, which is another failure than a stop.
    @Test func aServerThatNoLongerTellsTheLengthIsNamed() throws {
        let lab = try Lab()
        let reader = try lab.open()
        (lab.entry.ranges, lab.entry.chunked) = (false, true)
        try lab.show()
        let found = try #require(error { _ = try reader.isUnchanged() })
        #expect(found.kind == .unexpectedAnswer && found.detail.contains("how long the source is"), "\(found)")
    }

    // MARK: - Servers without ranges

    @Test(arguments: [false, true]) func aFileWithoutRangesIsKeptWhole(isChunked: Bool) throws {
        let lab = try Lab(2_000_000)
        (lab.entry.ranges, lab.entry.chunked) = (false, isChunked)
        try lab.show()
        try lab.stub.set(faults: .init("GET", do: "truncate", times: 2, bytes: 300_000))
        let reader = try lab.open()
        #expect(reader.isWhole && reader.facts.byteCount == 2_000_000)
        let count = try lab.targets().count
        for _ in 0..<2 {
            #expect(try reader.allBytes() == lab.bytes)
            reader.forget()
        }
        #expect(try reader.isUnchanged())
        #expect(try lab.targets().count == count)
    }

    @Test(arguments: [false, true]) func aLongFileWithoutRangesIsRefused(isChunked: Bool) throws {
        let lab = try Lab()
        (lab.entry.ranges, lab.entry.chunked) = (false, isChunked)
        try lab.show()
        #expect(try lab.open(limit: 1_000_000).isWhole)
        let found = try #require(error { _ = try lab.open(limit: 999_999) })
        #expect(found.kind == .notServed && found.detail.contains("no ranges"), "\(found)")
        // Other sources of the job have taken all.
        let last = try #require(error { _ = try lab.open(limit: 0) })
        #expect(last.kind == .notServed && last.detail.contains("the sources of this job"), "\(last)")
    }

    /// Its end could be missing.
    @Test func aBodyWithoutLengthIsRefused() throws {
        let lab = try Lab()
        (lab.entry.ranges, lab.entry.endless) = (false, true)
        try lab.show()
        let found = try #require(error { _ = try lab.open() })
        #expect(found.kind == .notServed && found.detail.contains("length"), "\(found)")
    }

    // MARK: - Redirects

    @Test func redirectsAreFollowedOnceForManyRanges() throws {
        let lab = try Lab(3_000_000)
        let other = "http://localhost:\(lab.stub.port)/other"
        try lab.show(["/pre/b": WebStub.Entry(to: "c"), "/pre/c": WebStub.Entry(to: other), "/other": lab.entry])
        let reader = try lab.open("b")
        #expect(try reader.allBytes() == lab.bytes && reader.isUnchanged())
        let requests = try lab.stub.requests()
        #expect(requests.map(\.target).prefix(3) == ["/pre/b", "/pre/c", "/other"])
        #expect(requests.dropFirst(3).allSatisfy { $0.target == "/other" && $0.host.hasPrefix("localhost") })
    }

    /// The root may redirect to another place by now.
    @Test func aPlaceBehindARedirectThatIsAwayIsLeft() throws {
        let lab = try Lab()
        let (one, two) = (WebStub.Entry(to: "/one"), WebStub.Entry(to: "/two"))
        try lab.show(["/pre/b": one, "/one": lab.entry])
        let reader = try lab.open("b")
        try lab.show(["/pre/b": two, "/one": lab.entry, "/two": lab.entry])
        try lab.stub.set(faults: .init("GET /one", do: "status", times: 1_000, status: 503))
        #expect(try reader.bytes(at: 900_000, 10) == Array(lab.bytes[900_000..<900_010]))
        #expect(try lab.targets().suffix(3) == ["/one", "/pre/b", "/two"])
    }

    /// Each of them could take the time of a whole file.
    @Test func redirectsEndWithTheTimeOfTheirRequest() throws {
        let lab = try Lab(10)
        try lab.show(["/pre/b": WebStub.Entry(to: "a")])
        var patience = StoreClient.Patience()
        patience.deadline = .zero
        let server = WebServer(try WebAddress(lab.stub.root()), patience: patience)
        let found = try #require(error { _ = try lab.open("b", server: server) })
        #expect(found.kind == .unavailable && found.detail.contains("behind redirects of 127.0.0.1"), "\(found)")
        #expect(try lab.targets() == ["/pre/b"])
    }

    /// As addresses do that are signed for some time.
    @Test func aRedirectThatHasEndedIsAskedForAgain() throws {
        let lab = try Lab()
        try lab.show(["/pre/b": WebStub.Entry(to: "a")])
        let reader = try lab.open("b")
        try lab.stub.set(faults: .init("/pre/a", do: "status", status: 403))
        #expect(try reader.bytes(at: 900_000, 10) == Array(lab.bytes[900_000..<900_010]))
        #expect(try lab.targets().suffix(3) == ["/pre/a", "/pre/b", "/pre/a"])
    }

    @Test(arguments: [
        ("/pre/b", "redirects more than 5 times"), ("ftp://localhost/a", "neither https:// nor http://"),
        ("http://user:word@localhost/a", "an address with a user name"),
    ])
    func otherRedirectsAreNotFollowed(target: String, why: String) throws {
        let lab = try Lab(10)
        try lab.show(["/pre/b": WebStub.Entry(to: target)])
        let found = try #require(error { _ = try lab.open("b") })
        #expect(found.kind == .notServed && found.detail.contains(why), "\(found)")
    }

    /// The host of the root is not at fault.
    @Test func failuresBehindARedirectAreToldAsSuch() throws {
        let lab = try Lab(10)
        // Nothing listens there.
        try lab.show(["/pre/b": WebStub.Entry(to: "http://127.0.0.1:1/b"), "/pre/c": WebStub.Entry(to: "/gone")])
        let host = "a host behind a redirect of 127.0.0.1:\(lab.stub.port)"
        #expect(error { _ = try lab.open("b") }?.detail == "\(host): nothing answers at that address")
        #expect(error { _ = try lab.open("c") }?.detail == "\(host) answers with the status 404")
        #expect(error { _ = try lab.open("d") }?.detail == "127.0.0.1:\(lab.stub.port) answers with the status 404")
    }

    /// A server of the internet must not have this machine ask hosts inside.
    @Test func noRedirectLeadsInside() throws {
        let lab = try Lab(10)
        try lab.show(["/pre/b": WebStub.Entry(to: "http://localhost:\(lab.stub.port)/pre/a")])
        let found = try #require(error { _ = try lab.open("b", server: lab.stub.server(isPublic: true)) })
        #expect(found.kind == .notServed && found.detail.contains("is not one of the internet"), "\(found)")
        #expect(found.hint?.contains("allow-private") == true)
        // Nor does a message tell which addresses names have inside.
        #expect(!found.detail.contains("::1") && !found.detail.contains("its address 127"), "\(found)")
        #expect(try lab.targets() == ["/pre/b"])
        let permitting = try lab.stub.server(options: "&allow-private", isPublic: true)
        #expect(try lab.open("b", server: permitting).allBytes() == lab.bytes)
    }

    // MARK: - The root itself

    @Test func whatTheServerSaysOfTheFolderIsNoProblem() throws {
        let lab = try Lab(10)
        let server = try lab.stub.server()
        #expect(server.problem() == nil)
        try lab.stub.set(faults: .init("GET /pre/", do: "status", times: 1_000, status: 403))
        #expect(server.problem() == nil)
        try lab.stub.set(faults: .init("GET /pre/", do: "status", times: 1_000, status: 503))
        #expect(server.problem()?.kind == .unavailable)
    }

    @Test func doctorFindsRangesAndETags() throws {
        let lab = try Lab(10)
        func texts(_ path: String) throws -> [String] {
            let server = WebServer(try WebAddress(lab.stub.root(path)))
            return WebServerExamination(server).run().map(\.text)
        }
        #expect(
            try texts("/pre/a") == [
                "the server answers with a file", "the server sends ranges",
                "a strong ETag tells one content of a file from another",
            ]
        )
        #expect(try texts("/pre").map { $0.hasPrefix("the server answers with the status 404") } == [true])
        (lab.entry.ranges, lab.entry.etag) = (false, nil)
        try lab.show()
        let poor = try texts("/pre/a")
        #expect(poor.contains { $0.hasPrefix("the server does not send ranges") }, "\(poor)")
        #expect(poor.contains { $0.hasPrefix("there is no strong ETag") }, "\(poor)")
    }
}
