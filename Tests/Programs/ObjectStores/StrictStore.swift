import Foundation
package import ObjectStorage
import Synchronization
import TestSupport
import WebClient

/// The object store of `Tests/Programs/StrictStore`, in a process of its own. It ends with the last reference.
package final class StrictStore: Sendable {
    private let process: ServerProcess
    package var port: Int { process.port }

    /// A fault at the next request whose method and target contain `match`.
    package struct Fault: Sendable, Encodable {
        package var match: String
        package var `do`: String
        package var times: Int
        package var skip: Int
        package var status: Int?
        package var code: String?
        package var bytes: Int?
        package var seconds: Int?
        package var after: Int?
        package var headers: [String: String]?
        package var more: String?

        package init(
            match: String,
            do act: String,
            times: Int = 1,
            skip: Int = 0,
            status: Int? = nil,
            code: String? = nil,
            bytes: Int? = nil,
            seconds: Int? = nil,
            after: Int? = nil,
            headers: [String: String]? = nil,
            more: String? = nil
        ) {
            (self.match, self.do, self.times, self.skip) = (match, act, times, skip)
            (self.status, self.code, self.bytes, self.seconds) = (status, code, bytes, seconds)
            (self.after, self.headers, self.more) = (after, headers, more)
        }
    }

    package struct State: Decodable {
        package let objects: [String: Int]
        /// The key of each.
        package let uploads: [String: String]
        /// On which there were requests to the store, so far.
        package let connections: Int
        /// Bytes of objects in all ranges that were asked for, so far.
        package let asked: Int
    }

    package init() throws { process = try ServerProcess("StrictStore/strict_store.py") }

    // MARK: - Control

    private func ask(_ method: String, _ path: String, _ body: [UInt8] = []) throws -> [UInt8] {
        var request = WebRequest(method, url: "http://127.0.0.1:\(port)\(path)")
        request.body = body.isEmpty ? .none : .bytes(body)
        return try WebConnection().send(request).body
    }

    /// Sets one of the store's properties, as JSON.
    package func set(_ name: String, json: String) throws {
        _ = try ask("POST", "/_control", Array(#"{"\#(name)": \#(json)}"#.utf8))
    }

    package func set(faults: Fault...) throws {
        try set("faults", json: String(decoding: try JSONEncoder().encode(faults), as: UTF8.self))
    }

    /// The methods and targets of the requests so far.
    package func requests() throws -> [String] {
        try JSONDecoder().decode([String].self, from: Data(try ask("GET", "/_log")))
    }

    package func state() throws -> State { try JSONDecoder().decode(State.self, from: Data(try ask("GET", "/_state"))) }

    // MARK: - Clients

    package func address(prefix: String = "", options: String = "") throws -> BucketAddress {
        try BucketAddress("s3://bucket/\(prefix)?endpoint=http://127.0.0.1:\(port)\(options)")
    }

    /// A client that does not wait between attempts.
    package func client(
        options: String = "",
        secret: String = "secret",
        attempts: Int = 4,
        credentials: CredentialProvider? = nil,
        now: @escaping @Sendable () -> StoreTime = StoreTime.now,
        wait: @escaping @Sendable (Duration) -> Void = { _ in }
    ) throws -> StoreClient {
        var patience = StoreClient.Patience()
        patience.attempts = attempts
        patience.silenceLimit = .seconds(6)
        return StoreClient(
            try address(options: options),
            credentials: credentials
                ?? CredentialProvider(fixed: StoreCredentials(keyID: "KEY", secret: secret)),
            patience: patience,
            now: now,
            // The store lives as long as its clients.
            wait: { [self] duration in withExtendedLifetime(self) { wait(duration) } }
        )
    }
}

/// Bytes of which no two blocks are alike.
package func testBytes(_ count: Int) -> [UInt8] {
    var state: UInt32 = 0x2545_F491
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        for place in 0..<count {
            state = state &* 1_664_525 &+ 1_013_904_223
            buffer[place] = UInt8(truncatingIfNeeded: state >> 24)
        }
        filled = count
    }
}
