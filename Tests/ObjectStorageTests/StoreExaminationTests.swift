import ObjectStorage
import ObjectStores
import TestSupport
import Testing
import WebClient

/// What the examination of a bucket finds.
struct StoreExaminationTests {
    private func run(_ store: StrictStore, mayWrite: Bool = true) throws -> StoreExamination.Report {
        StoreExamination(try store.client(), mayWrite: mayWrite).run()
    }

    @Test(arguments: [
        ("exact", StoreExamination.Verdict.exact), ("put", .putOnly), ("none", .none), ("racy", .none),
    ])
    func racesTellWhatConditionsAreWorth(conditions: String, verdict: StoreExamination.Verdict) throws {
        let store = try StrictStore()
        try store.set("conditions", json: "\"\(conditions)\"")
        let report = try run(store)
        #expect(report.verdict == verdict)
        #expect(report.lines.allSatisfy { $0.level != .failure })
        let state = try store.state()
        #expect(state.objects.isEmpty && state.uploads.isEmpty)
    }

    @Test(arguments: [
        ("&list-type", "s3:ListBucket"), ("PUT /bucket/.sluice", "s3:PutObject"),
        ("GET /bucket/.sluice", "s3:GetObject"), ("DELETE /bucket/.sluice", "s3:DeleteObject"),
        ("POST /bucket/.sluice", "s3:PutObject"),
        ("GET /bucket/?encoding-type=url&prefix=.sluice", "s3:ListBucketMultipartUploads"),
        ("?uploadId", "s3:ListMultipartUploadParts"),
    ])
    func missingPermissionsAreNamed(request: String, action: String) throws {
        let store = try StrictStore()
        try store.set("denied", json: "[\"\(request)\"]")
        let report = try run(store)
        let failures = report.lines.filter { $0.level == .failure }
        #expect(failures.contains { $0.hint == "allow \(action) in the policy of the credentials or of the bucket" })
    }

    @Test func lossesOfObjectsAreNamed() throws {
        let store = try StrictStore()
        #expect(try !run(store).lines.contains { $0.text.hasPrefix("objects lose") })
        try store.set("forgets", json: #"["meta", "type"]"#)
        let lines = try run(store).lines
        #expect(lines.contains { $0.level == .notice && $0.text == "objects lose their metadata (x-amz-meta-)" })
        #expect(
            lines.contains {
                $0.level == .notice && $0.text == "objects lose their Content-Type: audio/flac became none"
            }
        )
    }

    @Test(arguments: [
        ("http://192.0.2.1:9", true), ("http://[2001:db8::1]:9", true), ("http://127.0.0.1:1", false),
        ("http://[::1]:1", false), ("http://localhost:1", false), ("https://127.0.0.1:1", false),
    ])
    func connectionWithoutEncryptionIsNamed(endpoint: String, isNamed: Bool) throws {
        var patience = StoreClient.Patience()
        (patience.attempts, patience.deadline) = (1, .milliseconds(500))
        let client = StoreClient(
            try BucketAddress("s3://bucket?endpoint=\(endpoint)"),
            credentials: CredentialProvider(fixed: StoreCredentials(keyID: "K", secret: "s")),
            patience: patience,
            wait: { _ in }
        )
        let line = try #require(StoreExamination(client, mayWrite: false).run().lines.first)
        #expect(line.text.contains("are not encrypted") == isNamed)
        if isNamed { #expect(line.level == .notice && line.hint != nil) }
    }

    /// Where the header is refused, no writer wins, and the races show nothing.
    @Test func refusedConditionsAreNoGuarantee() throws {
        let store = try StrictStore()
        try store.set(faults: .init(match: "-put-", do: "status", times: 1_000, status: 501, code: "NotImplemented"))
        let report = try run(store)
        #expect(report.verdict == nil)
        #expect(
            report.lines.contains {
                $0.level == .failure && $0.text.hasPrefix("conditions of writes cannot be examined")
            }
        )
    }

    @Test func rootsThatAreReadNeedTheListOnly() throws {
        let store = try StrictStore()
        try store.set("denied", json: "[\"PUT\", \"POST\", \"DELETE\"]")
        let report = try run(store, mayWrite: false)
        #expect(report.lines.allSatisfy { $0.level == .good })
        #expect(report.verdict == nil)
    }

    /// Workers need that permission, and a list does not show it.
    @Test func rootsThatAreReadShowWhetherObjectsCanBeRead() throws {
        let store = try StrictStore()
        try store.set("fill", json: #"{"a b.wav": 10}"#)
        func last() throws -> StoreExamination.Line? { try run(store, mayWrite: false).lines.last }
        let read = try last()
        #expect(read?.level == .good && read?.text == "objects can be read")
        try store.set("denied", json: #"["GET /bucket/a%20b.wav"]"#)
        let denied = try last()
        #expect(denied?.level == .failure && denied?.text.hasPrefix("objects cannot be read") == true)
        #expect(denied?.hint?.contains("s3:GetObject") == true, "\(String(describing: denied))")
        try store.set("denied", json: "[]")
        try store.set(
            faults: .init(match: "GET /bucket/a%20b.wav", do: "status", status: 403, code: "InvalidObjectState")
        )
        let archived = try last()
        #expect(archived?.level == .notice && archived?.hint?.contains("restore") == true)
        #expect(try store.requests().allSatisfy { $0.hasPrefix("GET ") })
    }

    @Test(arguments: [(0.0, StoreExamination.Level.good), (200, .notice), (-5_000, .failure)])
    func clocksAreCompared(skew: Double, level: StoreExamination.Level) throws {
        let store = try StrictStore()
        try store.set("skew", json: "\(skew)")
        let line = try #require(try run(store, mayWrite: false).lines.first)
        #expect(line.level == level)
        if skew < 0 { #expect(line.text.contains("ahead of the store's")) }
        if skew > 0 { #expect(line.text.contains("behind the store's")) }
    }

    @Test func ruleForIncompleteUploadsIsLookedFor() throws {
        let store = try StrictStore()
        let without = try run(store)
        #expect(without.lines.contains { $0.text == "no lifecycle rule removes incomplete uploads" && $0.hint != nil })
        let rule =
            "<LifecycleConfiguration><Rule><Status>Enabled</Status><AbortIncompleteMultipartUpload>"
            + "<DaysAfterInitiation>7</DaysAfterInitiation></AbortIncompleteMultipartUpload></Rule>"
            + "</LifecycleConfiguration>"
        try store.set("lifecycle", json: "\"\(rule)\"")
        #expect(try run(store).lines.contains { $0.text == "a lifecycle rule removes incomplete uploads" })
        try store.set("lifecycle", json: "\"\(rule.replacing("Enabled", with: "Disabled"))\"")
        #expect(try run(store).lines.contains { $0.text == "no lifecycle rule removes incomplete uploads" })
    }

    @Test func rulesThatCannotBeReadAreNotCalledMissing() throws {
        let store = try StrictStore()
        try store.set(faults: .init(match: "lifecycle", do: "status", times: 100, status: 500, code: "InternalError"))
        let lines = try run(store).lines
        #expect(!lines.contains { $0.text.hasPrefix("no lifecycle rule") })
        #expect(lines.contains { $0.level == .notice && $0.text.hasPrefix("lifecycle rules cannot be read") })
    }

    @Test func lostAnswersLeaveNothingBehind() throws {
        let store = try StrictStore()
        try store.set(faults: .init(match: "PUT /bucket/.sluice", do: "lose", times: 1_000))
        #expect(try run(store).lines.contains { $0.level == .failure })
        #expect(try store.state().objects.isEmpty)
        try store.set(faults: .init(match: "?uploads=", do: "lose"))
        #expect(try run(store).verdict == .exact)
        #expect(try store.state().uploads.isEmpty)
    }

    @Test func unreachableStoreIsOneLine() throws {
        let address = try BucketAddress("s3://bucket?endpoint=http://127.0.0.1:1")
        var patience = StoreClient.Patience()
        patience.attempts = 2
        let client = StoreClient(
            address,
            credentials: CredentialProvider(fixed: StoreCredentials(keyID: "K", secret: "s")),
            patience: patience,
            wait: { _ in }
        )
        let report = StoreExamination(client).run()
        #expect(report.lines.map(\.level) == [.failure])
        #expect(report.lines[0].text.contains("127.0.0.1:1: nothing answers at that address"))
    }
}
