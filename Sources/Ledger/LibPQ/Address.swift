import CLibPQ

/// What libpq is told about a database, by its keywords.
struct Address: Sendable, Hashable {
    private(set) var keywords: [String: String]
    private(set) var secrets: [String: Secret]

    /// The keywords whose values nobody sees.
    private static let secretKeywords: Set<String> = ["password", "sslpassword"]

    /// Reads `url`, then for what it leaves open the variables that libpq would read.
    init(url: String?, environment: [String: String]) throws {
        keywords = [:]
        secrets = [:]
        for given in Self.variables(of: environment) { set(given.keyword, given.value) }
        if let url { for (keyword, value) in try Self.parse(url) { set(keyword, value) } }
        try check()
    }

    private mutating func set(_ keyword: String, _ value: String) {
        if Self.secretKeywords.contains(keyword) {
            secrets[keyword] = Secret(text: value)
        } else {
            keywords[keyword] = value
        }
    }

    /// The values of those variables in `environment` that libpq knows.
    private static func variables(
        of environment: [String: String]
    ) -> [(keyword: String, variable: String, value: String)] {
        guard let options = PQconndefaults() else { return [] }
        defer { PQconninfoFree(options) }
        var found: [(String, String, String)] = []
        var option = options
        while let keyword = option.pointee.keyword {
            if let variable = option.pointee.envvar, let value = environment[String(cString: variable)], !value.isEmpty
            {
                found.append((String(cString: keyword), String(cString: variable), value))
            }
            option += 1
        }
        return found
    }

    /// Those of them that say what `url` leaves open.
    static func variables(fillingIn url: String?, from environment: [String: String]) throws -> [String] {
        let said = Set(try url.map { try parse($0) }?.map(\.0) ?? [])
        return variables(of: environment).filter { !said.contains($0.keyword) }.map(\.variable).sorted()
    }

    private static func parse(_ url: String) throws -> [(String, String)] {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(url, &message) else {
            // libpq's message quotes the URL, with the password in it.
            PQfreemem(message)
            throw refusal("the database URL cannot be read")
        }
        defer { PQconninfoFree(options) }
        var found: [(String, String)] = []
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { found.append((String(cString: keyword), String(cString: value))) }
            option += 1
        }
        return found
    }

    private static func refusal(_ detail: String) -> LedgerError {
        LedgerError(
            .badConfiguration,
            during: "read the database's address",
            detail,
            hint: "write postgresql://user:password@host:5432/database?sslmode=verify-full, special characters as %XX"
        )
    }

    /// Refuses what libpq would refuse only when it connects, or would not refuse.
    private func check() throws {
        let modes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]
        if let mode = keywords["sslmode"], !modes.contains(mode) {
            throw Self.refusal("sslmode is one of \(modes.joined(separator: ", ")), not \"\(mode)\"")
        }
        for port in list("port") where !port.isEmpty {
            guard let number = Int(port), (1...65_535).contains(number) else {
                throw Self.refusal("a port is a number from 1 to 65535")
            }
        }
        _ = try attempts()
        _ = try connectTimeout()
    }

    /// `connect_timeout` in seconds; `nil` if it is not given or 0, which says for ever and is not offered.
    func connectTimeout() throws -> Duration? {
        guard let text = keywords["connect_timeout"] else { return nil }
        guard let seconds = Int(text) else { throw Self.refusal("connect_timeout is a number of seconds") }
        return seconds > 0 ? .seconds(seconds) : nil
    }
}

extension Address {
    /// The connections to try, in order: the keywords and values for one host each.
    ///
    /// libpq goes through several hosts by itself, but without a time limit for each when it must not block, so that
    /// the first that swallows packets would hide the others.
    func attempts() throws -> [Attempt] {
        let hosts = list("host")
        let numbers = list("hostaddr")
        let ports = list("port")
        let count = max(hosts.count, numbers.count, 1)
        for (name, listed) in [("hosts", hosts), ("host addresses", numbers)]
        where listed.count != count && !listed.isEmpty {
            throw Self.refusal("there are \(listed.count) \(name) for \(count) servers")
        }
        guard ports.count <= 1 || ports.count == count else {
            throw Self.refusal("there are \(ports.count) ports for \(count) servers")
        }
        // A ledger is written to: of several hosts, the one that takes changes is meant.
        let wanted = keywords["target_session_attrs"] ?? (count > 1 ? "read-write" : "any")
        let passes = wanted == "prefer-standby" ? ["standby", "any"] : [wanted]
        return passes.flatMap { pass in
            (0..<count).map { index in
                var given = Self.standing.merging(keywords) { $1 }
                given["client_encoding"] = "UTF8"
                given["target_session_attrs"] = pass
                given["host"] = hosts.isEmpty ? nil : hosts[index]
                given["hostaddr"] = numbers.isEmpty ? nil : numbers[index]
                given["port"] = ports.isEmpty ? nil : ports.count == 1 ? ports[0] : ports[index]
                return Attempt(keywords: given, secrets: secrets)
            }
        }
    }

    /// What is told to libpq where the address says nothing: a dead peer is noticed within a minute.
    private static let standing = [
        "application_name": "sluice", "keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3",
        "tcp_user_timeout": "30000",
    ]

    private func list(_ keyword: String) -> [String] {
        guard let text = keywords[keyword], !text.isEmpty else { return [] }
        return text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }

    /// One connection to try.
    struct Attempt {
        var keywords: [String: String]
        var secrets: [String: Secret]

        /// Calls `body` with what `PQconnectStartParams` takes.
        func withParameters<Result>(
            _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<UnsafePointer<CChar>?>) -> Result
        ) -> Result {
            let all = keywords.merging(secrets.mapValues(\.text)) { $1 }.sorted { $0.key < $1.key }
            let owned = all.map { (CString($0.key), CString($0.value)) }
            let names = owned.map(\.0.pointer) + [nil]
            let values = owned.map(\.1.pointer) + [nil]
            return withExtendedLifetime(owned) { body(names, values) }
        }
    }

    /// `text` without any of the passwords.
    func redacting(_ text: String) -> String {
        secrets.values.reduce(text) { shown, secret in
            secret.text.isEmpty ? shown : shown.replacingEvery(secret.text, with: "***")
        }
    }
}

extension Address: CustomStringConvertible {
    var description: String {
        let hosts = list("host").isEmpty ? list("hostaddr") : list("host")
        let ports = list("port")
        let servers = hosts.enumerated().map { index, host in
            let shown =
                host.contains(":") ? "[\(host)]" : host.contains("/") ? host.replacingEvery("/", with: "%2F") : host
            let port = ports.isEmpty ? nil : ports.count == 1 ? ports[0] : ports[index]
            return port.map { "\(shown):\($0)" } ?? shown
        }
        var text = "postgresql://"
        if let user = keywords["user"] { text += "\(user)@" }
        text += servers.joined(separator: ",")
        if let database = keywords["dbname"] { text += "/\(database)" }
        if let mode = keywords["sslmode"] { text += "?sslmode=\(mode)" }
        return redacting(text)
    }
}

/// A C string of its own.
private final class CString {
    let pointer: UnsafePointer<CChar>?
    private let storage: UnsafeMutableBufferPointer<CChar>

    init(_ text: String) {
        storage = .allocate(capacity: text.utf8.count + 1)
        _ = storage.initialize(from: text.utf8CString)
        pointer = UnsafePointer(storage.baseAddress)
    }

    deinit { storage.deallocate() }
}

extension String {
    /// This text with `part` replaced wherever it stands.
    fileprivate func replacingEvery(_ part: String, with other: String) -> String {
        var result = ""
        var rest = self[...]
        while let first = rest.firstRange(of: part) {
            result += rest[..<first.lowerBound] + other
            rest = rest[first.upperBound...]
        }
        return result + rest
    }
}
