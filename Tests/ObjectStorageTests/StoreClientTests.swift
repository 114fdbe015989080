import Conversion
import ObjectStorage
import ObjectStores
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

    /// libcurl sends a request again by itself if a kept connection breaks. Of a write with a condition, the client would
    /// then see the second answer only.
    @Test func lostAnswerOnAKeptConnectionIsRemembered() throws {
        let store = try StrictStore()
        let client = try store.client()
        #expect(try client.facts(of: "a") == nil)
        try store.set(faults: .init(match: "PUT", do: "lose"))
        let error = failure { () throws(StoreError) in _ = try client.put(.bytes([1]), as: "a", condition: .absent) }
        #expect(error?.kind == .conditionFailed)
        #expect(error?.mayHaveHappened == true)
        let id = try client.beginUpload(to: "b", order: nil)
        try store.set(faults: .init(match: "POST", do: "reset"))
        let lost = failure { () throws(StoreError) in
            _ = try client.complete(id, of: [UploadedPart(number: 1, etag: "\"e\"")], to: "b", condition: .absent)
        }
        // There is no such part. But the client does not know what the store has done with the first request.
        #expect(lost?.kind == .refused && lost?.mayHaveHappened == true)
    }

    /// An attempt that begins shortly before the end of the call does not get its whole time limit.
    @Test func deadlineIsKept() throws {
        let store = try StrictStore()
        try store.set(faults: .init(match: "GET", do: "slow", times: 100, bytes: 0))
        var patience = StoreClient.Patience()
        patience.deadline = .seconds(4)
        let client = StoreClient(
            try store.address(),
            credentials: CredentialProvider(fixed: StoreCredentials(keyID: "KEY", secret: "secret")),
            patience: patience,
            wait: { _ in }
        )
        var call = StoreCall("GET", "", "list")
        call.parameters = [.init("list-type", "2")]
        call.timeLimit = .milliseconds(3_900)
        let start = ContinuousClock.now
        let error = failure { () throws(StoreError) in _ = try client.send(call) }
        #expect(error?.kind == .unavailable)
        // Two whole attempts would take 7.8 s.
        #expect(ContinuousClock.now - start < .milliseconds(7_500))
        withExtendedLifetime(store) {}
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

    /// A provider that asks a server, which gives the same credentials for half an hour of the store's time.
    private func provider(
        end: StoreTime,
        _ count: @escaping @Sendable () -> Void = {}
    ) -> CredentialProvider {
        let text =
            #"{"AccessKeyId": "KEY", "SecretAccessKey": "secret", "Token": "t", "Expiration": "\#(end.compact)"}"#
        return CredentialProvider(
            CredentialPlaces(environment: ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/x"], home: "/nonexistent"),
            send: { _ throws(WebError) in
                count()
                return WebAnswer(status: 200, headers: [], body: Array(text.utf8))
            }
        )
    }

    /// By the clock of this machine, which is an hour fast, the credentials have ended.
    @Test func endOfCredentialsIsComparedWithTheClockOfTheStore() throws {
        let store = try StrictStore()
        try store.set("skew", json: "-3600")
        let end = StoreTime.now().advanced(by: .seconds(-1_800))
        let count = Mutex(0)
        let client = try store.client(credentials: provider(end: end) { count.withLock { $0 += 1 } })
        for _ in 0..<3 { #expect(try client.page(prefix: "").objects.isEmpty) }
        #expect(count.withLock { $0 } == 1)
    }

    /// By the clock of this machine, which is half an hour slow, they are valid for long.
    @Test func credentialsAreRenewedByTheClockOfTheStore() throws {
        let store = try StrictStore()
        try store.set("skew", json: "1800")
        let count = Mutex(0)
        let end = StoreTime.now().advanced(by: .seconds(1_900))
        let client = try store.client(credentials: provider(end: end) { count.withLock { $0 += 1 } })
        _ = try client.page(prefix: "")
        #expect(count.withLock { $0 } == 2)
    }

    /// An answer to HEAD has no code that says why.
    @Test func endedCredentialsAreRenewedAfterHead() throws {
        let store = try StrictStore()
        try store.set(faults: .init(match: "HEAD", do: "status", status: 400, code: "ExpiredToken"))
        let count = Mutex(0)
        let end = StoreTime.now().advanced(by: .seconds(3_600))
        let client = try store.client(credentials: provider(end: end) { count.withLock { $0 += 1 } })
        #expect(try client.facts(of: "a") == nil)
        #expect(count.withLock { $0 } == 2)
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
