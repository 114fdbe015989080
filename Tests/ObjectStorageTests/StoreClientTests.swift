import Conversion
import ObjectStorage
import Synchronization
import TestSupport
import Testing
import WebClient

/// Calls to a strict store, which verifies every signature and fails on demand.
struct StoreClientTests {
    private func failure(_ body: () throws(StoreError) -> Void) -> StoreError? {
        do throws(StoreError) {
            try body()
            return nil
        } catch { return error }
    }

    @Test func objectsAreWrittenReadListedAndRemoved() throws {
        let store = try StrictStore()
        let client = try store.client()
        for key in ["a", "b c/ü+&=?#%20", "b c/../z", "b c//y", "~(')*!", "k\u{1}"] {
            #expect(try client.facts(of: key) == nil)
            let etag = try client.put(.bytes(Array(key.utf8)), as: key, condition: .none, order: "order 7")
            let facts = try #require(try client.facts(of: key))
            #expect(facts.etag == etag)
            #expect(facts.byteCount == Int64(key.utf8.count))
            #expect(facts.order == "order 7")
            #expect(facts.modified != nil)
        }
        let page = try client.page(prefix: "b")
        #expect(page.objects.map(\.key) == ["b c/../z", "b c//y", "b c/ü+&=?#%20"])
        #expect(page.next == nil)
        #expect(try client.page(prefix: "", delimiter: "/").prefixes == ["b c/"])
        for _ in 0..<2 { try client.delete("a") }
        #expect(try client.facts(of: "a") == nil)
    }

    @Test func connectionsAreReused() throws {
        let store = try StrictStore()
        let client = try store.client()
        for _ in 0..<20 { _ = try client.facts(of: "a") }
        let stop = WebStop()
        for _ in 0..<20 { _ = try client.page(prefix: "", stop: stop) }
        #expect(try store.requests().count == 40)
        // libcurl keeps connections of calls that can be stopped apart from others.
        #expect(try store.state().connections <= 2)
    }

    @Test func wrongSecretIsRefusedAtOnce() throws {
        let store = try StrictStore()
        let client = try store.client(secret: "wrong")
        let error = failure { () throws(StoreError) in _ = try client.page(prefix: "") }
        #expect(error?.kind == .accessDenied)
        #expect(error?.problem?.code == "SignatureDoesNotMatch")
        #expect(error?.code(.source) == .permissionDenied)
        #expect(try store.requests().count == 1)
    }

    @Test func missingBucketIsNamed() throws {
        let store = try StrictStore()
        let address = try BucketAddress("s3://other?endpoint=http://127.0.0.1:\(store.port)")
        let credentials = CredentialProvider(fixed: StoreCredentials(keyID: "KEY", secret: "secret"))
        let client = StoreClient(address, credentials: credentials)
        let error = withExtendedLifetime(store) {
            failure { () throws(StoreError) in _ = try client.page(prefix: "") }
        }
        #expect(error?.kind == .noSuchBucket)
        #expect(error?.place == "s3://other")
    }

    // MARK: - Attempts

    @Test(arguments: [
        (500, "InternalError"), (503, "SlowDown"), (503, "ServiceUnavailable"), (400, "RequestTimeout"),
        (429, "Throttling"),
    ])
    func temporaryRefusalsAreTriedAgain(status: Int, code: String) throws {
        let store = try StrictStore()
        try store.set(faults: .init(match: "PUT", do: "status", times: 3, status: status, code: code))
        let waits = Mutex<[Duration]>([])
        let client = try store.client(wait: { wait in waits.withLock { $0.append(wait) } })
        _ = try client.put(.bytes([1]), as: "a", condition: .none)
        #expect(try store.requests().count == 4)
        // Each wait is a random share of a bound that doubles.
        #expect(waits.withLock { $0.reduce(.zero, +) } <= .milliseconds(700))
        try store.set(faults: .init(match: "PUT", do: "status", times: 4, status: status, code: code))
        let error = failure { () throws(StoreError) in _ = try client.put(.bytes([1]), as: "a", condition: .none) }
        #expect(error?.kind == .unavailable)
        #expect(error?.problem?.code == code)
        #expect(error?.code(.destination) == .storageUnavailable)
        // Only an internal error leaves it open whether the store has acted.
        #expect(error?.mayHaveHappened == (status == 500))
    }

    @Test func brokenConnectionsAreTriedAgain() throws {
        let store = try StrictStore()
        try store.set(faults: .init(match: "GET", do: "reset", times: 2))
        #expect(try store.client().page(prefix: "").objects.isEmpty)
        #expect(try store.requests().count >= 3)
    }

    @Test func lostAnswerIsRemembered() throws {
        let store = try StrictStore()
        try store.set(faults: .init(match: "PUT", do: "lose"))
        let client = try store.client()
        let error = failure { () throws(StoreError) in _ = try client.put(.bytes([1]), as: "a", condition: .absent) }
        // The second attempt meets the object that the first one has made.
        #expect(error?.kind == .conditionFailed)
        #expect(error?.mayHaveHappened == true)
        let other = failure { () throws(StoreError) in _ = try client.put(.bytes([1]), as: "a", condition: .absent) }
        #expect(other?.mayHaveHappened == false)
    }

    @Test func silentStoreIsGivenUp() throws {
        let store = try StrictStore()
        let client = try store.client(attempts: 1)
        _ = try client.put(.bytes(testBytes(10_000)), as: "a", condition: .none)
        try store.set(faults: .init(match: "GET", do: "slow", bytes: 100))
        var call = StoreCall("GET", "a", "read")
        call.timeLimit = .seconds(1)
        let error = failure { () throws(StoreError) in _ = try client.send(call) }
        #expect(error?.kind == .unavailable)
    }

    @Test func aStopEndsACall() throws {
        let store = try StrictStore()
        try store.set(faults: .init(match: "GET", do: "status", times: 1_000, status: 503, code: "SlowDown"))
        let stop = WebStop()
        let client = try store.client(attempts: 1_000, wait: { _ in stop.stop() })
        let error = failure { () throws(StoreError) in _ = try client.page(prefix: "", stop: stop) }
        #expect(error?.kind == .stopped)
        #expect(try store.requests().count == 1)
    }

    @Test func permanentRefusalsAreNotTriedAgain() throws {
        let store = try StrictStore()
        for (status, code, kind) in [
            (403, "AccessDenied", StoreError.Kind.accessDenied), (400, "InvalidArgument", .refused),
            (501, "NotImplemented", .unsupported), (409, "ConditionalRequestConflict", .conflict),
        ] {
            try store.set(faults: .init(match: "PUT", do: "status", status: status, code: code))
            let client = try store.client()
            let count = try store.requests().count
            let error = failure { () throws(StoreError) in _ = try client.put(.none, as: "a", condition: .absent) }
            #expect(error?.kind == kind)
            #expect(try store.requests().count == count + 1)
        }
    }

    // MARK: - Repairs

    @Test(arguments: [Int64(7_200), -7_200])
    func wrongClockIsCorrected(offset: Int64) throws {
        let store = try StrictStore()
        let client = try store.client(now: { StoreTime(seconds: StoreTime.now().seconds + offset) })
        _ = try client.put(.bytes([1]), as: "a", condition: .none)
        #expect(abs(client.clockOffset + offset) < 5)
        // An answer to HEAD has no body; its header has the time.
        let other = try store.client(now: { StoreTime(seconds: StoreTime.now().seconds + offset) })
        #expect(try other.facts(of: "a") != nil)
        #expect(abs(other.clockOffset + offset) < 5)
        let count = try store.requests().count
        _ = try client.facts(of: "a")
        #expect(try store.requests().count == count + 1)
    }

    @Test func regionOfTheBucketIsTakenOver() throws {
        let store = try StrictStore()
        try store.set("region", json: "\"eu-west-1\"")
        let client = try store.client()
        _ = try client.put(.bytes([1]), as: "a", condition: .none)
        #expect(client.region == "eu-west-1")
        #expect(try store.client().facts(of: "a") != nil)
    }

    /// Another call finds the region while this one is on its way to the old one.
    @Test func callsThatMeetOneRedirectAllMove() throws {
        let store = try StrictStore()
        try store.set("region", json: "\"eu-west-1\"")
        let other = Mutex<StoreClient?>(nil)
        let isOther = Mutex(false)
        // Asked for between the region and the signature of a request.
        let client = try store.client(now: {
            if let other = other.withLock({ $0.take() }) {
                // `try?`: the outer call says what is wrong.
                isOther.withLock { $0 = (try? other.page(prefix: "")) != nil }
            }
            return .now()
        })
        other.withLock { $0 = client }
        #expect(try client.page(prefix: "").objects.isEmpty)
        #expect(isOther.withLock { $0 })
    }

    /// The region becomes a part of the host's name.
    @Test func regionThatIsNoWordIsNotTakenOver() throws {
        let store = try StrictStore()
        try store.set(
            faults: .init(
                match: "GET",
                do: "status",
                status: 301,
                code: "PermanentRedirect",
                headers: ["x-amz-bucket-region": "example.org/x"]
            )
        )
        let client = try store.client()
        #expect(failure { () throws(StoreError) in _ = try client.page(prefix: "") }?.kind == .refused)
        #expect(client.region == "us-east-1")
    }

    /// A store that sends a client from region to region is left.
    @Test func redirectsEnd() throws {
        let store = try StrictStore()
        let faults = (0..<5).map { number in
            StrictStore.Fault(
                match: "GET",
                do: "status",
                status: 301,
                code: "PermanentRedirect",
                headers: ["x-amz-bucket-region": "region-\(number)"]
            )
        }
        try store.set(faults: faults[0], faults[1], faults[2], faults[3], faults[4])
        let client = try store.client()
        #expect(failure { () throws(StoreError) in _ = try client.page(prefix: "") }?.kind == .refused)
        #expect(try store.requests().count == 3)
    }

    @Test func endedCredentialsAreRenewedOnce() throws {
        let store = try StrictStore()
        try store.set(faults: .init(match: "GET", do: "status", status: 400, code: "ExpiredToken"))
        let client = try store.client()
        #expect(try client.page(prefix: "").objects.isEmpty)
        try store.set(faults: .init(match: "GET", do: "status", times: 5, status: 400, code: "ExpiredToken"))
        #expect(failure { () throws(StoreError) in _ = try client.page(prefix: "") }?.problem?.code == "ExpiredToken")
        #expect(try store.requests().count == 4)
    }

    // MARK: - Headers

    @Test func optionsOfTheRootAreSentAndSigned() throws {
        let store = try StrictStore()
        let client = try store.client(
            options: "&storage-class=STANDARD_IA&sse=aws:kms&kms-key=k&acl=private&request-payer=requester"
        )
        _ = try client.put(.bytes([1]), as: "a", condition: .none)
        #expect(try client.facts(of: "a") != nil)
    }

    // MARK: - Other signers

    /// A presigned URL of ours opens with curl, and curl's own signatures satisfy the store that verifies ours.
    @Test func curlReadsWhatWeSign() throws {
        let store = try StrictStore()
        let client = try store.client()
        _ = try client.put(.bytes(Array("sound".utf8)), as: "a b", condition: .none)
        let request = StoreRequest(
            "GET",
            client.address.server(in: client.region),
            path: client.address.requestPath("a b")
        )
        let signer = RequestSigner(StoreCredentials(keyID: "KEY", secret: "secret"), region: client.region)
        let url = signer.presign(request, at: .now(), for: .seconds(60))
        #expect(try Run.program("curl", ["-sf", url]).checked().outputText == "sound")
        let late = signer.presign(request, at: StoreTime(seconds: StoreTime.now().seconds - 120), for: .seconds(60))
        #expect(try !Run.program("curl", ["-sf", late]).succeeded)
        let own = [
            "-sf", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user", "KEY:secret", "-H",
            "x-amz-content-sha256: \(StoreRequest.hashOfNothing)", request.url,
        ]
        #expect(try Run.program("curl", own).checked().outputText == "sound")
    }
}
