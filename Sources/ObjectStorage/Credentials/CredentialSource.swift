import Conversion
import Hashing
import WebClient

/// A way to credentials.
enum CredentialSource: Sendable {
    case fixed(StoreCredentials)
    case webIdentity(WebIdentity)
    case singleSignOn(SingleSignOn)
    case process(String)
    case container(url: String, String?)
    case instance(endpoint: String)

    static let advice =
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give the machine or container a role"

    /// A token file of Kubernetes or another issuer, for which a role is given.
    struct WebIdentity: Sendable {
        let role: String
        let tokenFile: String
        let session: String?
        let region: String?
    }

    /// A session that `aws sso login` has begun.
    struct SingleSignOn: Sendable {
        let cacheFolder: String
        let cacheKey: String
        let region: String
        let account: String
        let role: String
        let profile: String
    }
}

/// Asks servers for credentials, for one look-up. Its calls block until `deadline` at the longest.
struct CredentialRequests {
    /// Sends a request.
    typealias Send = @Sendable (WebRequest) throws(WebError) -> WebAnswer

    let send: Send
    let environment: [String: String]
    let deadline: SuspendingClock.Instant

    private var rest: Duration { SuspendingClock.now.duration(to: deadline) }

    /// `now` is the time that the ends of sessions are compared with; `nil` if that is left to the server.
    func credentials(from source: CredentialSource, at now: StoreTime?) throws(CredentialError) -> StoreCredentials {
        switch source {
        case .fixed(let credentials): credentials
        case .webIdentity(let identity): try ask(identity)
        case .singleSignOn(let session): try ask(session, at: now)
        case .process(let command):
            try Self.document(
                try CredentialProcess.run(command, environment: environment, timeLimit: rest),
                from: "credential_process",
                token: "SessionToken"
            )
        case .container(let url, let token): try askContainer(url, token)
        case .instance(let endpoint): try askInstance(endpoint)
        }
    }

    // MARK: - Roles for tokens

    private func ask(_ identity: CredentialSource.WebIdentity) throws(CredentialError) -> StoreCredentials {
        let token = try SmallFile.readLine(identity.tokenFile)
        let form: [(String, String)] = [
            ("Action", "AssumeRoleWithWebIdentity"), ("Version", "2011-06-15"), ("RoleArn", identity.role),
            ("RoleSessionName", identity.session ?? "sluice"), ("WebIdentityToken", token),
        ]
        let host =
            identity.region.map { "sts.\($0).amazonaws.com" + ($0.hasPrefix("cn-") ? ".cn" : "") }
            ?? "sts.amazonaws.com"
        var request = WebRequest("POST", url: environment["AWS_ENDPOINT_URL_STS"] ?? "https://\(host)/")
        request.headers = [WebRequest.Header("Content-Type", "application/x-www-form-urlencoded")]
        let pairs = form.map { "\($0.0)=\($0.1.percentEncoded(keeping: StoreRequest.unreserved))" }
        request.body = .bytes(Array(pairs.joined(separator: "&").utf8))
        let answer = try answer(to: request, "the token service (STS)")
        // `try?`: only the text is missing then from the message.
        let root = try? XMLParser.parse(answer.body)
        guard answer.status == 200 else {
            let code = root?["Error"]?.text(of: "Code") ?? "status \(answer.status)"
            throw CredentialError(
                "the token service (STS) gives no credentials for \(identity.role): \(code.prefix(100))",
                isTemporary: Self.isTemporary(answer.status) || code == "Throttling"
            )
        }
        guard let found = root?["AssumeRoleWithWebIdentityResult"]?["Credentials"],
            let id = found.text(of: "AccessKeyId"),
            let secret = found.text(of: "SecretAccessKey")
        else { throw CredentialError("the answer of the token service (STS) has no credentials") }
        return StoreCredentials(
            keyID: id,
            secret: secret,
            sessionToken: found.text(of: "SessionToken"),
            expires: found.text(of: "Expiration").flatMap { StoreTime(iso8601: $0) }
        )
    }

    // MARK: - Single sign-on

    private func ask(
        _ session: CredentialSource.SingleSignOn,
        at now: StoreTime?
    ) throws(CredentialError) -> StoreCredentials {
        let hint = "`aws sso login --profile \(session.profile)` begins a session"
        let name = SHA1Digest.of(Array(session.cacheKey.utf8)).hexadecimal
        guard let bytes = try SmallFile.read("\(session.cacheFolder)/\(name).json"),
            let cached = JSONValue(json: bytes)?.members, let token = cached["accessToken"]?.text
        else { throw CredentialError("there is no session of single sign-on", hint: hint) }
        if let now, let end = cached["expiresAt"]?.text.flatMap({ StoreTime(iso8601: $0) }), end <= now {
            throw CredentialError("the session of single sign-on has ended", hint: hint)
        }
        let parameters: [StoreRequest.Parameter] = [
            .init("role_name", session.role), .init("account_id", session.account),
        ]
        var request = WebRequest(
            url: "https://portal.sso.\(session.region).amazonaws.com/federation/credentials?"
                + StoreRequest.encoded(parameters)
        )
        request.headers = [WebRequest.Header("x-amz-sso_bearer_token", token)]
        let answer = try answer(to: request, "the portal of single sign-on")
        guard answer.status != 401 else { throw CredentialError("the session of single sign-on has ended", hint: hint) }
        guard answer.status == 200, let found = JSONValue(json: answer.body)?.members?["roleCredentials"]?.members,
            let id = found["accessKeyId"]?.text, let secret = found["secretAccessKey"]?.text
        else {
            throw CredentialError(
                "the portal of single sign-on gives no credentials: status \(answer.status)",
                isTemporary: Self.isTemporary(answer.status)
            )
        }
        return StoreCredentials(
            keyID: id,
            secret: secret,
            sessionToken: found["sessionToken"]?.text,
            // In milliseconds.
            expires: found["expiration"]?.whole.map { StoreTime(seconds: $0 / 1_000) }
        )
    }

    // MARK: - Roles of containers and machines

    private func askContainer(_ url: String, _ token: String?) throws(CredentialError) -> StoreCredentials {
        guard Self.isTrusted(url) else {
            throw CredentialError("AWS_CONTAINER_CREDENTIALS_FULL_URI names a host that is neither local nor of AWS")
        }
        var request = WebRequest(url: url)
        request.isDirect = true
        request.timeLimit = .seconds(5)
        if let token { request.headers = [WebRequest.Header("Authorization", token)] }
        let answer = try answer(to: request, "the container's credential server")
        guard answer.status == 200 else {
            throw CredentialError(
                "the container's credential server answers with status \(answer.status)",
                isTemporary: Self.isTemporary(answer.status)
            )
        }
        return try Self.document(answer.body, from: "the container's credential server", token: "Token")
    }

    /// The token of the container is sent to this machine and to AWS's own addresses only, or securely.
    static func isTrusted(_ url: String) -> Bool {
        if url.lowercased().hasPrefix("https://") { return true }
        guard url.lowercased().hasPrefix("http://") else { return false }
        let authority = url.dropFirst(7).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let server = StoreServer(isSecure: false, authority: String(authority)) else { return false }
        let known = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"]
        return known.contains(server.host) || server.isLoopback
    }

    private func askInstance(_ endpoint: String) throws(CredentialError) -> StoreCredentials {
        let endpoint = endpoint.hasSuffix("/") ? String(endpoint.dropLast()) : endpoint
        let path = "\(endpoint)/latest/meta-data/iam/security-credentials/"
        let token = try machineToken(endpoint)
        var request = WebRequest(url: path)
        request.headers = [WebRequest.Header("x-aws-ec2-metadata-token", token)]
        let role = try word(of: request)
        request.url = path + role.percentEncoded(keeping: StoreRequest.unreserved)
        let answer = try answer(to: Self.local(request), "the metadata server")
        guard answer.status == 200 else {
            throw CredentialError("the metadata server answers with status \(answer.status)", isTemporary: true)
        }
        return try Self.document(answer.body, from: "the metadata server", token: "Token")
    }

    /// The token of a session with the metadata server. Machines that are none of AWS's have no such server, and there nothing
    /// answers at all. So the limits are short, as in AWS's programs, and have the same variables.
    private func machineToken(_ endpoint: String) throws(CredentialError) -> String {
        var request = WebRequest("PUT", url: "\(endpoint)/latest/api/token")
        request.headers = [WebRequest.Header("x-aws-ec2-metadata-token-ttl-seconds", "21600")]
        request.isDirect = true
        request.timeLimit = .seconds(number("AWS_METADATA_SERVICE_TIMEOUT", 1, most: 60))
        for _ in 0..<number("AWS_METADATA_SERVICE_NUM_ATTEMPTS", 2, most: 10) {
            let answer: WebAnswer
            do throws(WebError) {
                answer = try sendInTime(request)
            } catch {
                continue
            }
            // A server that refuses or is busy is there: the caller decides whether it asks again.
            return try Self.word(of: answer)
        }
        throw CredentialError(
            "there are no credentials for object storage, and the metadata of this machine cannot be read",
            hint: CredentialSource.advice,
            isAbsence: true
        )
    }

    /// A number of the environment, from 1 to `most`.
    private func number(_ name: String, _ usual: Int, most: Int) -> Int {
        environment[name].flatMap { Int($0) }.map { max(1, min($0, most)) } ?? usual
    }

    private static func local(_ request: WebRequest) -> WebRequest {
        var request = request
        request.isDirect = true
        request.timeLimit = .seconds(5)
        return request
    }

    private func word(of request: WebRequest) throws(CredentialError) -> String {
        try Self.word(of: try answer(to: Self.local(request), "the metadata server"))
    }

    private static func word(of answer: WebAnswer) throws(CredentialError) -> String {
        guard answer.status == 200 else {
            let why =
                answer.status == 404
                ? "this machine has no role" : "the metadata server answers with status \(answer.status)"
            throw CredentialError(why, hint: CredentialSource.advice, isTemporary: answer.status >= 500)
        }
        guard let word = String(decoding: answer.body, as: UTF8.self).split(whereSeparator: \.isWhitespace).first else {
            throw CredentialError("the answer of the metadata server is empty", isTemporary: true)
        }
        return String(word)
    }

    private func answer(to request: WebRequest, _ server: String) throws(CredentialError) -> WebAnswer {
        do throws(WebError) {
            return try sendInTime(request)
        } catch {
            throw CredentialError("\(server) cannot be asked for credentials: \(error.message)", isTemporary: true)
        }
    }

    /// Sends a request, which takes no longer than the rest of the look-up.
    private func sendInTime(_ request: WebRequest) throws(WebError) -> WebAnswer {
        let rest = rest
        guard rest > .zero else { throw WebError(.timedOut, "no answer in time") }
        var request = request
        request.timeLimit = min(request.timeLimit ?? rest, rest)
        return try send(request)
    }

    private static func isTemporary(_ status: Int) -> Bool { status == 429 || status >= 500 }

    /// Reads the document of a server or a program.
    private static func document(
        _ bytes: [UInt8],
        from place: String,
        token: String
    ) throws(CredentialError) -> StoreCredentials {
        guard let found = JSONValue(json: bytes)?.members else {
            throw CredentialError("the answer of \(place) is not JSON")
        }
        guard let id = found["AccessKeyId"]?.text, let secret = found["SecretAccessKey"]?.text else {
            // A metadata server says in this way why there are none.
            let why = found["Code"]?.text.map { ": \($0.prefix(100))" } ?? ""
            throw CredentialError("the answer of \(place) has no credentials\(why)")
        }
        let end = found["Expiration"]?.text
        let expires = end.flatMap { StoreTime(iso8601: $0) }
        guard end == nil || expires != nil else {
            throw CredentialError("the answer of \(place) has an Expiration that is no time")
        }
        return StoreCredentials(keyID: id, secret: secret, sessionToken: found[token]?.text, expires: expires)
    }
}
