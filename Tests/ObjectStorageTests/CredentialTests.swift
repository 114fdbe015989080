import Dispatch
import Foundation
@testable import ObjectStorage
import Synchronization
import TestSupport
import Testing
import WebClient

/// Where credentials come from.
struct CredentialTests {
    /// Servers of credentials, as a function of their requests.
    private final class Servers: Sendable {
        typealias Answer = @Sendable (WebRequest) throws(WebError) -> WebAnswer
        private let heard = Mutex<[WebRequest]>([])
        private let answer: Answer

        init(_ answer: @escaping Answer) { self.answer = answer }

        var requests: [WebRequest] { heard.withLock { $0 } }

        func send(_ request: WebRequest) throws(WebError) -> WebAnswer {
            heard.withLock { $0.append(request) }
            return try answer(request)
        }
    }

    /// A clock that a test moves.
    private final class Clock: Sendable {
        private let seconds = Mutex<Int64>(1_369_353_600)
        func now() -> StoreTime { StoreTime(seconds: seconds.withLock { $0 }) }
        func advance(by count: Int64) { seconds.withLock { $0 += count } }
    }

    private static func answer(_ body: String, status: Int = 200) -> WebAnswer {
        WebAnswer(status: status, headers: [], body: Array(body.utf8))
    }

    private static func document(_ id: String, token: String = "Token", end: String = "2013-05-24T06:00:00Z") -> String
    {
        #"{"Code": "Success", "AccessKeyId": "\#(id)", "SecretAccessKey": "s", "\#(token)": "t", "Expiration": "\#(end)"}"#
    }

    private func provider(
        _ environment: [String: String],
        home: String = "/nonexistent",
        profile: String? = nil,
        servers: Servers = Servers { _ throws(WebError) in throw WebError(.cannotConnect, "nothing answers") },
        clock: Clock = Clock()
    ) -> CredentialProvider {
        CredentialProvider(
            CredentialPlaces(environment: environment, home: home, profile: profile),
            send: { request throws(WebError) in try servers.send(request) },
            now: { clock.now() }
        )
    }

    private func home(config: String = "", credentials: String = "") throws -> TemporaryFolder {
        let folder = try TemporaryFolder.create()
        try FileManager.default.createDirectory(atPath: folder.path(".aws"), withIntermediateDirectories: true)
        try Data(config.utf8).write(to: URL(fileURLWithPath: folder.path(".aws/config")))
        try Data(credentials.utf8).write(to: URL(fileURLWithPath: folder.path(".aws/credentials")))
        return folder
    }

    // MARK: - Variables and files

    @Test func variablesComeFirst() throws {
        let home = try home(credentials: "[default]\naws_access_key_id = FILE\naws_secret_access_key = f\n")
        let environment = ["AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "e", "AWS_SESSION_TOKEN": "t"]
        let found = try provider(environment, home: home.path(".")).credentials()
        #expect(found == StoreCredentials(keyID: "ENV", secret: "e", sessionToken: "t"))
        #expect(try provider([:], home: home.path(".")).credentials().keyID == "FILE")
        #expect(try provider(["AWS_ACCESS_KEY_ID": ""], home: home.path(".")).credentials().keyID == "FILE")
    }

    @Test func halfOfAKeyIsRefused() {
        #expect(throws: CredentialError.self) { try provider(["AWS_ACCESS_KEY_ID": "ENV"]).credentials() }
    }

    @Test func profilesAreReadFromBothFiles() throws {
        let home = try home(
            config: """
                # comment
                [default]
                region = us-west-2
                [profile ci]
                region=eu-west-1
                s3 =
                    aws_access_key_id = NESTED
                aws_access_key_id = CONFIG
                aws_secret_access_key = c=d
                """,
            credentials: "[ci]\naws_access_key_id=CREDENTIALS\n"
        )
        let found = try provider(["AWS_PROFILE": "ci"], home: home.path(".")).credentials()
        #expect(found == StoreCredentials(keyID: "CREDENTIALS", secret: "c=d"))
        // A root that names its profile does not get the keys of the environment.
        let environment = ["AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "e", "AWS_REGION": "us-east-1"]
        #expect(try provider(environment, home: home.path("."), profile: "ci").credentials().keyID == "CREDENTIALS")
        var places = CredentialPlaces(environment: environment, home: home.path("."), profile: "ci")
        #expect(try places.region() == "eu-west-1")
        places.profile = nil
        #expect(try places.region() == "us-east-1")
        #expect(try CredentialPlaces(environment: [:], home: home.path(".")).region() == "us-west-2")
        #expect(throws: CredentialError.self) {
            try provider(["AWS_PROFILE": "no"], home: home.path(".")).credentials()
        }
    }

    @Test func rolesOfOtherProfilesAreRefusedByName() throws {
        let home = try home(config: "[default]\nrole_arn = arn:r\nsource_profile = a\n")
        #expect(throws: CredentialError.self) { try provider([:], home: home.path(".")).credentials() }
    }

    // MARK: - Programs

    @Test func programsPrintCredentials() throws {
        let json = Self.document("PROCESS", token: "SessionToken", end: "2999-01-01T00:00:00Z")
        let home = try home(config: "[default]\ncredential_process = printf '%s' '\(json)'\n")
        let found = try provider(["PATH": "/usr/bin:/bin"], home: home.path(".")).credentials()
        #expect(found.keyID == "PROCESS")
        #expect(found.sessionToken == "t")
    }

    @Test(arguments: ["false", "echo nothing", "/nonexistent", "", "'open", "echo {}"])
    func programsThatFailAreReported(command: String) throws {
        let home = try home(config: "[default]\ncredential_process = \(command)\n")
        let provider = provider(
            ["PATH": "/usr/bin:/bin", "AWS_EC2_METADATA_DISABLED": "true"],
            home: home.path(".")
        )
        #expect(throws: CredentialError.self) { try provider.credentials() }
    }

    @Test func programThatClosesItsOutputAndStaysIsEnded() {
        // `sleep`: the program must still be there when its time is over.
        let command = "sh -c 'echo {}; exec >&-; sleep 100'"
        #expect(throws: CredentialError.self) {
            try CredentialProcess.run(command, environment: ["PATH": "/usr/bin:/bin"], timeLimit: .seconds(1))
        }
    }

    // MARK: - Secrets

    @Test func argumentsOfAProgramAreNotShown() throws {
        let home = try home(config: "[default]\ncredential_process = false --password hidden\n")
        do {
            _ = try provider(["PATH": "/usr/bin:/bin"], home: home.path(".")).credentials()
            Issue.record("the program has failed")
        } catch { #expect(!"\(error.why) \(error.hint ?? "")".contains("hidden")) }
    }

    @Test func variablesAndFilesAreNeverPrinted() {
        let environment = ["AWS_ACCESS_KEY_ID": "K", "AWS_SECRET_ACCESS_KEY": "hidden"]
        let places = CredentialPlaces(environment: environment)
        let text = "[default]\naws_secret_access_key = hidden\n"
        let files = SharedConfiguration(config: text, credentials: text)
        var dumped = ""
        dump(provider(environment), to: &dumped)
        dump(places, to: &dumped)
        dump(files, to: &dumped)
        for text in ["\(places)", String(reflecting: places), "\(files)", String(reflecting: files), dumped] {
            #expect(!text.contains("hidden"))
        }
    }

    // MARK: - Servers

    @Test func serversThatAreBusyAreAskedAgainLater() throws {
        let folder = try TemporaryFolder.create()
        try Data("token".utf8).write(to: URL(fileURLWithPath: folder.path("token")))
        let web = ["AWS_WEB_IDENTITY_TOKEN_FILE": folder.path("token"), "AWS_ROLE_ARN": "arn:r"]
        for environment in [web, ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/x"]] {
            for (status, isTemporary) in [(503, true), (429, true), (500, true), (403, false)] {
                let servers = Servers { _ in Self.answer("", status: status) }
                do {
                    _ = try provider(environment, servers: servers).credentials()
                    Issue.record("there are no credentials")
                } catch { #expect(error.isTemporary == isTemporary, "\(status)") }
            }
        }
    }

    @Test func textsOfAServerAreCut() {
        let text = String(repeating: "x", count: 1 << 20)
        let servers = Servers { _ in Self.answer(#"{"Code": "\#(text)"}"#) }
        do {
            _ = try provider(["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/x"], servers: servers).credentials()
            Issue.record("there are no credentials")
        } catch { #expect(error.why.utf8.count < 300) }
    }

    @Test func tokenServiceOfChinaHasItsOwnName() throws {
        let folder = try TemporaryFolder.create()
        try Data("token".utf8).write(to: URL(fileURLWithPath: folder.path("token")))
        let servers = Servers { _ in Self.answer("", status: 403) }
        let environment = [
            "AWS_WEB_IDENTITY_TOKEN_FILE": folder.path("token"), "AWS_ROLE_ARN": "arn:r", "AWS_REGION": "cn-north-1",
        ]
        #expect(throws: CredentialError.self) { try provider(environment, servers: servers).credentials() }
        #expect(servers.requests.map(\.url) == ["https://sts.cn-north-1.amazonaws.com.cn/"])
    }

    @Test func tokensOfAnIssuerGiveARole() throws {
        let folder = try TemporaryFolder.create()
        try Data("the.token\n".utf8).write(to: URL(fileURLWithPath: folder.path("token")))
        let servers = Servers { _ in
            Self.answer(
                "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
                    + "<AccessKeyId>WEB</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>"
                    + "<Expiration>2013-05-24T01:00:00Z</Expiration></Credentials>"
                    + "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
            )
        }
        let environment = [
            "AWS_WEB_IDENTITY_TOKEN_FILE": folder.path("token"), "AWS_ROLE_ARN": "arn:aws:iam::1:role/a b",
            "AWS_REGION": "eu-west-1",
        ]
        let found = try provider(environment, servers: servers).credentials()
        #expect(found.keyID == "WEB")
        #expect(found.expires?.compact == "20130524T010000Z")
        let request = try #require(servers.requests.first)
        #expect(request.url == "https://sts.eu-west-1.amazonaws.com/")
        guard case .bytes(let body) = request.body else { throw SupportError("request", "has no body") }
        let form = String(decoding: body, as: UTF8.self)
        #expect(form.contains("RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fa%20b&"))
        #expect(form.hasSuffix("WebIdentityToken=the.token"))
    }

    @Test func sessionsOfSingleSignOnAreUsed() throws {
        let home = try home(
            config: """
                [profile p]
                sso_session = work
                sso_account_id = 1
                sso_role_name = r
                [sso-session work]
                sso_region = eu-north-1
                sso_start_url = https://start
                """
        )
        let cache = home.path(".aws/sso/cache")
        try FileManager.default.createDirectory(atPath: cache, withIntermediateDirectories: true)
        // SHA-1 of `work`.
        let file = URL(fileURLWithPath: "\(cache)/e274eeff768c6396088ec6eb091f4bf4d47ab1e0.json")
        let servers = Servers { _ in
            Self.answer(
                #"{"roleCredentials": {"accessKeyId": "SSO", "secretAccessKey": "s", "sessionToken": "t", "#
                    + #""expiration": 1369375200000}}"#
            )
        }
        let provider = provider([:], home: home.path("."), profile: "p", servers: servers)
        #expect(throws: CredentialError.self) { try provider.credentials() }
        try Data(#"{"accessToken": "bearer", "expiresAt": "2013-05-23T00:00:00Z"}"#.utf8).write(to: file)
        #expect(throws: CredentialError.self) { try provider.credentials() }
        #expect(servers.requests.isEmpty)
        try Data(#"{"accessToken": "bearer", "expiresAt": "2013-05-25T00:00:00Z"}"#.utf8).write(to: file)
        let found = try provider.credentials()
        #expect(found.keyID == "SSO")
        #expect(found.expires?.compact == "20130524T060000Z")
        let request = try #require(servers.requests.first)
        let url = "https://portal.sso.eu-north-1.amazonaws.com/federation/credentials?account_id=1&role_name=r"
        #expect(request.url == url)
        #expect(request.headers == [WebRequest.Header("x-amz-sso_bearer_token", "bearer")])
    }

    @Test func containersHaveAServer() throws {
        let servers = Servers { _ in Self.answer(Self.document("CONTAINER")) }
        var environment = ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/x", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "a"]
        #expect(try provider(environment, servers: servers).credentials().keyID == "CONTAINER")
        let request = try #require(servers.requests.first)
        #expect(request.url == "http://169.254.170.2/v2/x")
        #expect(request.headers == [WebRequest.Header("Authorization", "a")])
        #expect(request.isDirect)
        // The file has the whole value of the header.
        let folder = try TemporaryFolder.create()
        try Data("\n Bearer abc \n".utf8).write(to: URL(fileURLWithPath: folder.path("token")))
        environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = folder.path("token")
        _ = try provider(environment, servers: servers).credentials()
        #expect(servers.requests.last?.headers == [WebRequest.Header("Authorization", "Bearer abc")])
        environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = nil
        environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = nil
        for url in [
            "http://127.0.0.1:51679/x", "http://[fd00:ec2::23]/x", "https://example.org/x", "http://localhost/",
        ] {
            environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url
            #expect(try provider(environment, servers: servers).credentials().keyID == "CONTAINER")
        }
        for url in [
            "http://example.org/", "http://127.0.0.1@example.org/", "ftp://127.0.0.1/", "http://127.0.0.1.example/",
        ] {
            environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url
            #expect(throws: CredentialError.self) { try provider(environment, servers: servers).credentials() }
        }
    }

    @Test func machinesHaveARole() throws {
        let servers = Servers { request in
            if request.method == "PUT" { return Self.answer("session-token") }
            guard request.headers == [WebRequest.Header("x-aws-ec2-metadata-token", "session-token")] else {
                return Self.answer("", status: 401)
            }
            return Self.answer(request.url.hasSuffix("/the-role") ? Self.document("MACHINE") : "the-role")
        }
        let found = try provider([:], servers: servers).credentials()
        #expect(found.keyID == "MACHINE")
        #expect(servers.requests.map(\.method) == ["PUT", "GET", "GET"])
        #expect(servers.requests.allSatisfy { $0.isDirect })
    }

    /// Each request of a store asks for credentials.
    @Test func absenceOfAMetadataServerIsRemembered() throws {
        let clock = Clock()
        let isThere = Mutex(false)
        let servers = Servers { request throws(WebError) in
            guard isThere.withLock({ $0 }) else { throw WebError(.timedOut, "no answer in time") }
            return Self.answer(request.url.hasSuffix("/r") ? Self.document("MACHINE") : "r")
        }
        let provider = provider([:], servers: servers, clock: clock)
        for _ in 0..<5 {
            do {
                _ = try provider.credentials()
                Issue.record("there are no credentials")
            } catch { #expect(!error.isTemporary && error.hint?.contains("AWS_ACCESS_KEY_ID") == true) }
        }
        #expect(servers.requests.count == 2)
        #expect(servers.requests.allSatisfy { $0.timeLimit == .seconds(1) })
        // A machine that starts gets its network later.
        isThere.withLock { $0 = true }
        clock.advance(by: CredentialProvider.absenceDuration.components.seconds)
        #expect(try provider.credentials().keyID == "MACHINE")
        // A server that was there is silent for a while only.
        isThere.withLock { $0 = false }
        clock.advance(by: 100_000)
        do {
            _ = try provider.credentials()
            Issue.record("the credentials have ended")
        } catch { #expect(error.isTemporary) }
    }

    @Test func metadataServerIsAskedAsTheVariablesSay() {
        let servers = Servers { _ throws(WebError) in throw WebError(.cannotConnect, "nothing answers") }
        let environment = ["AWS_METADATA_SERVICE_TIMEOUT": "7", "AWS_METADATA_SERVICE_NUM_ATTEMPTS": "3"]
        #expect(throws: CredentialError.self) { try provider(environment, servers: servers).credentials() }
        #expect(servers.requests.map(\.timeLimit) == [.seconds(7), .seconds(7), .seconds(7)])
    }

    @Test func regionThatIsNoWordIsRefused() {
        let places = CredentialPlaces(environment: ["AWS_REGION": "example.org/x"], home: "/nonexistent")
        #expect(throws: CredentialError.self) { try places.region() }
    }

    @Test func withoutAnythingTheAdviceNamesTheVariables() {
        do {
            _ = try provider([:]).credentials()
            Issue.record("there are no credentials")
        } catch { #expect(error.hint?.contains("AWS_ACCESS_KEY_ID") == true) }
        do {
            _ = try provider(["AWS_EC2_METADATA_DISABLED": "true"]).credentials()
            Issue.record("there are no credentials")
        } catch { #expect(error.hint?.contains("AWS_ACCESS_KEY_ID") == true) }
    }

    // MARK: - Renewal

    /// The old credentials are valid for some minutes more.
    @Test func renewalHoldsUpNoOtherThread() throws {
        let clock = Clock()
        let held = Mutex<CredentialProvider?>(nil)
        let isAnswered = Mutex(false)
        let servers = Servers { _ in
            if let provider = held.withLock({ $0.take() }) {
                let isDone = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    // `try?`: without credentials, the other thread waits in vain.
                    if (try? provider.credentials()) != nil { isDone.signal() }
                }
                let result = isDone.wait(timeout: .now() + .seconds(120))
                isAnswered.withLock { $0 = result == .success }
            }
            return Self.answer(Self.document("K", end: clock.now().advanced(by: .seconds(3_600)).compact))
        }
        let provider = provider(["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/x"], servers: servers, clock: clock)
        let first = try provider.credentials()
        held.withLock { $0 = provider }
        clock.advance(by: 3_400)
        #expect(try provider.credentials() != first)
        #expect(isAnswered.withLock { $0 })
        #expect(servers.requests.count == 2)
    }

    /// Servers keep the old credentials until shortly before their end.
    @Test func credentialsThatEndSoonAreNotAskedForEachRequest() throws {
        let clock = Clock()
        let servers = Servers { _ in Self.answer(Self.document("K", end: "2013-05-24T00:03:20Z")) }
        let environment = ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/x"]
        let provider = provider(environment, servers: servers, clock: clock)
        for _ in 0..<3 { _ = try provider.credentials() }
        #expect(servers.requests.count == 1)
        clock.advance(by: 40)
        for _ in 0..<3 { _ = try provider.credentials() }
        #expect(servers.requests.count == 2)
    }

    @Test func credentialsAreRenewedBeforeTheyEnd() throws {
        let clock = Clock()
        let isDown = Mutex(false)
        let servers = Servers { _ throws(WebError) in
            if isDown.withLock({ $0 }) { throw WebError(.timedOut, "no answer in time") }
            return Self.answer(Self.document("K", end: clock.now().advanced(by: .seconds(3_600)).compact))
        }
        let environment = ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/x"]
        let provider = provider(environment, servers: servers, clock: clock)
        let first = try provider.credentials()
        clock.advance(by: 3_200)
        #expect(try provider.credentials() == first)
        #expect(servers.requests.count == 1)
        clock.advance(by: 150)
        let second = try provider.credentials()
        #expect(second != first)
        #expect(servers.requests.count == 2)
        // While the server is down, the old ones are used to their end, and it is not asked for each request.
        isDown.withLock { $0 = true }
        clock.advance(by: 3_400)
        #expect(try provider.credentials() == second)
        #expect(try provider.credentials() == second)
        #expect(servers.requests.count == 3)
        clock.advance(by: 40)
        #expect(try provider.credentials() == second)
        #expect(servers.requests.count == 4)
        clock.advance(by: 200)
        #expect(throws: CredentialError.self) { try provider.credentials() }
        isDown.withLock { $0 = false }
        let third = try provider.credentials()
        // A store that refuses them has them looked up again.
        provider.renew(third)
        _ = try provider.credentials()
        #expect(servers.requests.count == 7)
    }
}
