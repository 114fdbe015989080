/// Where credentials are looked for.
package struct CredentialPlaces: Sendable {
    /// The variables of the process.
    package var environment: [String: String]
    /// The folder of the user; `nil` if there is none.
    package var home: String?
    /// The profile that the root names; `nil` for the one of the environment.
    package var profile: String?

    package init(environment: [String: String], home: String? = nil, profile: String? = nil) {
        // An empty variable counts as unset, as in AWS's programs.
        self.environment = environment.filter { !$0.value.isEmpty }
        self.home = home ?? environment["HOME"]
        self.profile = profile
    }

    /// The profile that counts, and whether it was asked for.
    var chosenProfile: (name: String, isNamed: Bool) {
        if let profile { return (profile, true) }
        if let name = environment["AWS_PROFILE"] ?? environment["AWS_DEFAULT_PROFILE"] { return (name, true) }
        return ("default", false)
    }

    /// The two files of settings, as they are now.
    func configuration() throws(CredentialError) -> SharedConfiguration {
        SharedConfiguration(
            config: try text(environment["AWS_CONFIG_FILE"], "config"),
            credentials: try text(environment["AWS_SHARED_CREDENTIALS_FILE"], "credentials")
        )
    }

    private func text(_ path: String?, _ name: String) throws(CredentialError) -> String {
        guard let path = path ?? home.map({ "\($0)/.aws/\(name)" }) else { return "" }
        return String(decoding: try SmallFile.read(path) ?? [], as: UTF8.self)
    }

    /// The region of the environment or of the profile; `nil` if neither has one.
    package func region() throws(CredentialError) -> String? {
        guard let region = try setRegion() else { return nil }
        // It becomes a part of the name of the host that requests are sent to.
        guard BucketOptions.isWord(region) else {
            throw CredentialError("the region \(region.prefix(100)) is not a word like eu-central-1")
        }
        return region
    }

    private func setRegion() throws(CredentialError) -> String? {
        // A profile that the root names has its own region.
        if profile == nil, let region = environment["AWS_REGION"] ?? environment["AWS_DEFAULT_REGION"] { return region }
        return try configuration().profile(chosenProfile.name)?["region"]
    }

    /// The way to credentials, by what is set; the first one in the order of AWS's programs.
    func source() throws(CredentialError) -> CredentialSource {
        if profile == nil, let id = environment["AWS_ACCESS_KEY_ID"] {
            guard let secret = environment["AWS_SECRET_ACCESS_KEY"] else {
                throw CredentialError(
                    "AWS_ACCESS_KEY_ID is set and AWS_SECRET_ACCESS_KEY is not",
                    hint: "set both, or neither"
                )
            }
            let token = environment["AWS_SESSION_TOKEN"]
            return .fixed(StoreCredentials(keyID: id, secret: secret, sessionToken: token))
        }
        let configuration = try configuration()
        let (name, isNamed) = chosenProfile
        if profile == nil, let file = environment["AWS_WEB_IDENTITY_TOKEN_FILE"], let role = environment["AWS_ROLE_ARN"]
        {
            let region = environment["AWS_REGION"] ?? environment["AWS_DEFAULT_REGION"]
            return .webIdentity(
                .init(role: role, tokenFile: file, session: environment["AWS_ROLE_SESSION_NAME"], region: region)
            )
        }
        if let settings = configuration.profile(name) {
            if let source = try source(of: settings, name, configuration) { return source }
        } else if isNamed {
            throw CredentialError(
                "there is no profile \(name) in the shared configuration",
                hint: "`aws configure list-profiles` lists them"
            )
        }
        if let path = environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] {
            return .container(url: "http://169.254.170.2\(path)", try containerToken())
        }
        if let url = environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] {
            return .container(url: url, try containerToken())
        }
        guard environment["AWS_EC2_METADATA_DISABLED"]?.lowercased() != "true" else {
            throw CredentialError("there are no credentials for object storage", hint: CredentialSource.advice)
        }
        return .instance(endpoint: environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] ?? "http://169.254.169.254")
    }

    /// The way that a profile describes; `nil` if it describes none.
    private func source(
        of settings: [String: String],
        _ name: String,
        _ configuration: SharedConfiguration
    ) throws(CredentialError) -> CredentialSource? {
        if let role = settings["role_arn"] {
            guard let file = settings["web_identity_token_file"] else {
                throw CredentialError(
                    "the profile \(name) takes a role with the credentials of another profile, which is not supported",
                    hint:
                        "credential_process = aws configure export-credentials --profile \(name) in a profile of its own"
                )
            }
            let session = settings["role_session_name"]
            return .webIdentity(.init(role: role, tokenFile: file, session: session, region: settings["region"]))
        }
        let session = settings["sso_session"]
        let shared = try session.map { session throws(CredentialError) in
            guard let found = configuration.session(session) else {
                throw CredentialError("there is no section [sso-session \(session)] in the shared configuration")
            }
            return found
        }
        let signOn = settings.merging(shared ?? [:]) { $1 }
        if let account = settings["sso_account_id"], let role = settings["sso_role_name"] {
            guard let region = signOn["sso_region"], let start = signOn["sso_start_url"], let home else {
                throw CredentialError("the profile \(name) lacks sso_region or sso_start_url")
            }
            return .singleSignOn(
                .init(
                    cacheFolder: "\(home)/.aws/sso/cache",
                    cacheKey: session ?? start,
                    region: region,
                    account: account,
                    role: role,
                    profile: name
                )
            )
        }
        if let id = settings["aws_access_key_id"], let secret = settings["aws_secret_access_key"] {
            let token = settings["aws_session_token"]
            return .fixed(StoreCredentials(keyID: id, secret: secret, sessionToken: token))
        }
        if let command = settings["credential_process"] { return .process(command) }
        return nil
    }

    private func containerToken() throws(CredentialError) -> String? {
        if let path = environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] { return try SmallFile.readLine(path) }
        return environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"]
    }
}

extension CredentialPlaces: CustomStringConvertible, CustomReflectable {
    /// Without the variables, among which are secrets.
    package var description: String { "places of credentials" }
    package var customMirror: Mirror { Mirror(self, children: [(label: String?, value: Any)]()) }
}
