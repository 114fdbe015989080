import Foundation
package import ObjectStorage
import WebClient

/// The web server of `Tests/Programs/WebStub`, in a process of its own. It ends with the last reference.
package final class WebStub: Sendable {
    private let process: ServerProcess
    package var port: Int { process.port }

    /// What the server has at one target.
    package struct Entry: Sendable, Encodable {
        package var file: String?
        package var etag: String? = "\"one\""
        package var modified: String? = "Mon, 01 Jan 2024 00:00:00 GMT"
        package var ranges = true
        package var chunked = false
        package var endless = false
        package var headers: [String: String] = [:]
        package var location: String?

        package init(file: String) { self.file = file }

        /// A redirect.
        package init(to location: String) { self.location = location }
    }

    /// A fault at the next request for `match`.
    package struct Fault: Sendable, Encodable {
        package var match: String
        package var `do`: String
        package var times: Int
        package var skip: Int
        package var status: Int?
        package var bytes: Int?
        package var headers: [String: String]?

        package init(
            _ match: String,
            do act: String,
            times: Int = 1,
            skip: Int = 0,
            status: Int? = nil,
            bytes: Int? = nil,
            headers: [String: String]? = nil
        ) {
            (self.match, self.do, self.times, self.skip) = (match, act, times, skip)
            (self.status, self.bytes, self.headers) = (status, bytes, headers)
        }
    }

    package struct Request: Sendable, Decodable {
        package let target: String
        package let host: String
        package let headers: [String: String]
    }

    /// With `certificate`, a file with a certificate and its key, it serves by TLS, and only roots can ask it.
    package init(certificate: String? = nil) throws {
        process = try ServerProcess("WebStub/web_stub.py", certificate.map { [$0] } ?? [])
    }

    // MARK: - Control

    private func ask(_ method: String, _ path: String, _ body: [UInt8] = []) throws -> [UInt8] {
        var request = WebRequest(method, url: "http://127.0.0.1:\(port)\(path)")
        request.body = body.isEmpty ? .none : .bytes(body)
        return try WebConnection().send(request).body
    }

    private func set(_ name: String, _ value: some Encodable) throws {
        let json = String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
        _ = try ask("POST", "/_control", Array(#"{"\#(name)": \#(json)}"#.utf8))
    }

    package func set(faults: Fault...) throws { try set("faults", faults) }

    /// Sets all that the server has, by targets.
    package func set(files: [String: Entry]) throws { try set("files", files) }

    package func requests() throws -> [Request] {
        try JSONDecoder().decode([Request].self, from: Data(try ask("GET", "/_log")))
    }

    // MARK: - Clients

    package func root(_ path: String = "/pre", options: String = "") -> String {
        "http://127.0.0.1:\(port)\(path)?allow-http\(options)"
    }

    /// A client that does not wait between attempts. `isPublic`: whether the addresses of this machine pass for those of the
    /// internet.
    package func server(
        options: String = "",
        isPublic: Bool = false,
        wait: @escaping @Sendable (Duration) -> Void = { _ in }
    ) throws -> WebServer {
        var patience = StoreClient.Patience()
        (patience.attempts, patience.silenceLimit) = (4, .seconds(6))
        return WebServer(
            try WebAddress(root(options: options)),
            patience: patience,
            isPublic: { _ in isPublic },
            // The server lives as long as its clients.
            wait: { [self] duration in withExtendedLifetime(self) { wait(duration) } }
        )
    }
}
