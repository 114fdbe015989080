import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing
import WebClient

@testable import ObjectStorage

/// How long a look-up of credentials may take.
struct CredentialTimeTests {
    /// Servers of credentials that give none.
    private final class Servers: Sendable {
        private let heard = Mutex<[WebRequest]>([])
        private let answer: @Sendable (WebRequest) throws(WebError) -> WebAnswer

        init(_ answer: @escaping @Sendable (WebRequest) throws(WebError) -> WebAnswer) { self.answer = answer }

        var requests: [WebRequest] { heard.withLock { $0 } }

        func send(_ request: WebRequest) throws(WebError) -> WebAnswer {
            heard.withLock { $0.append(request) }
            return try answer(request)
        }
    }

    private func provider(
        _ environment: [String: String],
        servers: Servers,
        now: @escaping @Sendable () -> StoreTime = StoreTime.now,
        lookUpLimit: Duration = CredentialProvider.lookUpLimit
    ) -> CredentialProvider {
        CredentialProvider(
            CredentialPlaces(environment: environment, home: "/nonexistent"),
            send: { request throws(WebError) in try servers.send(request) },
            now: now,
            lookUpLimit: lookUpLimit
        )
    }

    /// A stopped program closes nothing, and a server that is silent answers nothing.
    @Test func programThatHangsEndsTheLookUpInTime() throws {
        let home = try TemporaryFolder.create()
        try FileManager.default.createDirectory(atPath: home.path(".aws"), withIntermediateDirectories: true)
        let config = "[default]\ncredential_process = sh -c 'kill -STOP $$'\n"
        try Data(config.utf8).write(to: URL(fileURLWithPath: home.path(".aws/config")))
        let provider = CredentialProvider(
            CredentialPlaces(environment: ["PATH": "/usr/bin:/bin"], home: home.path(".")),
            lookUpLimit: .seconds(1)
        )
        let start = ContinuousClock.now
        #expect(throws: CredentialError.self) { try provider.credentials() }
        #expect(ContinuousClock.now - start < .seconds(30))
    }

    @Test func allRequestsOfALookUpShareItsTime() throws {
        let servers = Servers { request throws(WebError) in
            let limit = min(request.timeLimit ?? .seconds(600), .seconds(5))
            // As at a server that takes the connection and says nothing: all the time that the request may take passes, which
            // is what the look-up counts.
            Thread.sleep(forTimeInterval: limit / .seconds(1))
            throw WebError(.timedOut, "no answer in time")
        }
        let environment = ["AWS_METADATA_SERVICE_TIMEOUT": "60", "AWS_METADATA_SERVICE_NUM_ATTEMPTS": "10"]
        let provider = provider(environment, servers: servers, lookUpLimit: .milliseconds(500))
        #expect(throws: CredentialError.self) { try provider.credentials() }
        // The first request had all of the time, and the nine others were not sent.
        let limits = servers.requests.map(\.timeLimit)
        #expect(limits.count == 1 && limits.allSatisfy { $0 ?? .seconds(600) <= .milliseconds(500) }, "\(limits)")
    }

    /// The connection is taken by the kernel, and the server never looks at it.
    @Test func metadataServerThatTakesTheConnectionAndSaysNothing() throws {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let problem = withUnsafeMutableBytes(of: &address) { bytes in
            let address = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            return bind(socket, address, size) + listen(socket, 8) + getsockname(socket, address, &size)
        }
        #expect(problem == 0)
        let server = "http://127.0.0.1:\(address.sin_port.bigEndian)"
        for environment in [
            ["AWS_EC2_METADATA_SERVICE_ENDPOINT": server, "AWS_METADATA_SERVICE_TIMEOUT": "60"],
            // Without a bound, this one would take 5 s.
            ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "\(server)/x"],
        ] {
            let provider = CredentialProvider(
                CredentialPlaces(environment: environment, home: "/nonexistent"),
                lookUpLimit: .seconds(1)
            )
            let start = ContinuousClock.now
            #expect(throws: CredentialError.self) { try provider.credentials() }
            #expect(ContinuousClock.now - start < .seconds(30))
        }
    }

    @Test func threadsThatWaitTakeTheFailureOfTheLookUp() throws {
        let held = Mutex<CredentialProvider?>(nil)
        let (hasBegun, isDone) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        // The threads that have asked for the time. Each does so after it has noted how many look-ups have failed, so that it
        // takes the failure of this one, whether it waits for the lock already or not.
        let asked = Mutex<Set<pthread_t>>([])
        let own = pthread_self()
        let failed = Mutex(0)
        let servers = Servers { _ throws(WebError) in
            if let provider = held.withLock({ $0.take() }) {
                for _ in 0..<8 {
                    Thread.detachNewThread {
                        do throws(CredentialError) {
                            _ = try provider.credentials()
                        } catch {
                            failed.withLock { $0 += 1 }
                        }
                        isDone.signal()
                    }
                }
                for _ in 0..<8 { hasBegun.wait() }
            }
            throw WebError(.timedOut, "no answer in time")
        }
        let clock: @Sendable () -> StoreTime = {
            let thread = pthread_self()
            if thread != own, asked.withLock({ $0.insert(thread).inserted }) { hasBegun.signal() }
            return .now()
        }
        let provider = provider(["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/x"], servers: servers, now: clock)
        held.withLock { $0 = provider }
        #expect(throws: CredentialError.self) { try provider.credentials() }
        for _ in 0..<8 { isDone.wait() }
        #expect(servers.requests.count == 1 && failed.withLock { $0 } == 8)
        // A call that comes later makes its own look-up.
        #expect(throws: CredentialError.self) { try provider.credentials() }
        #expect(servers.requests.count == 2)
    }
}
