import HTTPServer
import Testing

@testable import API

/// Which requests a page of another site could have a browser send. Tests/HTTP/test_origins.py asks a coordinator.
struct OriginCheckTests {
    private let check = OriginCheck(names: ["Sluice.Example.org"])

    private func head(_ method: String, _ fields: [String: String], network: String = "7f.0.0") throws -> RequestHead {
        var head = try #require(
            RequestHead(method: method, target: "/", fields: fields.map { RequestHead.Field($0.key, $0.value) })
        )
        head.network = network
        return head
    }

    private func permits(_ check: () throws -> Void) -> Bool {
        do {
            try check()
            return true
        } catch {
            return false
        }
    }

    @Test(arguments: [
        ("localhost:8080", true), ("127.0.0.1", true), ("127.255.0.9:1", true), ("[::1]:80", true), ("[::1]", true),
        ("sluice.example.org:443", true), ("SLUICE.example.ORG", true), ("", false), ("127.0.0.1.nip.io", false),
        ("127.0.0", false), ("127.0.0.256", false), ("[::2]", false), ("other.example.org", false),
    ])
    func hostsWithoutAToken(host: String, isOwn: Bool) throws {
        let head = try self.head("GET", ["host": host])
        let isPermitted = permits { try check.checkHost(head) }
        #expect(isPermitted == isOwn)
        let local = try self.head("GET", ["host": host], network: "")
        let isPermittedLocally = permits { try check.checkHost(local) }
        #expect(isPermittedLocally)
        // A session needs the right name everywhere: a tunnel of ssh may lead browsers to the socket.
        let mayHaveSession = permits { try check.checkName(local) }
        #expect(mayHaveSession == isOwn)
    }

    @Test(arguments: [
        ("http://a:80", "a:80", true), ("https://a:8443", "a", true), ("https://a", "a:8443", false),
        ("http://a:81", "a:80", false), ("http://b", "a", false), ("null", "a", false), ("a", "a", false),
        ("https://sluice.example.org", "127.0.0.1:8080", true), ("http://[::1]:1", "[::1]:1", true),
        ("http://a/path", "a", false), ("ftp://a", "a", false), ("https://a", "a:443", true),
        ("http://a", "a:80", true), ("https://a", "a:80", false),
    ])
    func originsOfChanges(origin: String, host: String, isOwn: Bool) throws {
        let head = try self.head("POST", ["host": host, "origin": origin])
        let isPermitted = permits { try check.checkOrigin(head) }
        #expect(isPermitted == isOwn)
        let reading = try self.head("GET", ["host": host, "origin": origin])
        let mayRead = permits { try check.checkOrigin(reading) }
        #expect(mayRead)
    }

    /// A proxy hides the port by which the browser found the coordinator. The browser knows it.
    @Test(
        arguments: [
            ("same-origin", true), ("none", true), (nil, true), ("same-site", false), ("cross-site", false),
            ("other", false),
        ] as [(String?, Bool)]
    )
    func whatTheBrowserSaysOfTheOrigin(site: String?, isOwn: Bool) throws {
        let origins: [(String, String?)] = [
            ("sluice.example.org", "https://sluice.example.org:8443"), ("a", "https://a:8443"), ("a:80", "http://a:80"),
            ("127.0.0.1:8080", "http://sluice.example.org:9090"), ("a", nil),
        ]
        for (host, origin) in origins {
            var fields = ["host": host]
            fields["origin"] = origin
            fields["sec-fetch-site"] = site
            let head = try self.head("POST", fields)
            let isPermitted = permits { try check.checkOrigin(head) }
            #expect(isPermitted == isOwn, "\(fields)")
        }
    }
}
