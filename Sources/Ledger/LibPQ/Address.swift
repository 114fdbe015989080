import CLibPQ
import Conversion

/// The connection parameters of a database, by libpq's keywords.
struct Address: Sendable, Hashable {
    private(set) var keywords: [String: String]
    private(set) var secrets: [String: Secret]

    /// Reads `url`, then fills in the rest from the variables that libpq would read.
    init(url: String?, environment: [String: String]) throws {
        keywords = [:]
        secrets = [:]
        for given in Self.variables(of: environment) { set(given.keyword, given.value) }
        if let url { for (keyword, value) in try Self.parse(url) { set(keyword, value) } }
        try check()
    }

    private mutating func set(_ keyword: String, _ value: String) {
        if PasswordField.keywords.contains(keyword) {
            secrets[keyword] = Secret(text: value)
        } else {
            keywords[keyword] = value
        }
    }

    /// The variables in `environment` that libpq knows, with their values.
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

    /// The names of the variables that set what `url` leaves out, sorted.
    static func variables(fillingIn url: String?, from environment: [String: String]) throws -> [String] {
        let said = Set(try url.map { try parse($0) }?.map(\.0) ?? [])
        return variables(of: environment).filter { !said.contains($0.keyword) }.map(\.variable).sorted()
    }

    private static func parse(_ url: String) throws -> [(String, String)] {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(url, &message) else {
            defer { PQfreemem(message) }
            let reason = message.map { Self.reason(String(cString: $0)) } ?? "out of memory"
            throw refusal("the database URL is invalid: \(reason)")
        }
        defer { PQconninfoFree(options) }
        try checkSigns(url)
        var found: [(String, String)] = []
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { found.append((String(cString: keyword), String(cString: value))) }
            option += 1
        }
        return found
    }

    /// Why libpq cannot parse an address. Hides the text that libpq quotes, because it may be a part of the password.
    private static func reason(_ message: String) -> String {
        let text = message.unicodeScalars.prefix { $0 != "\n" }
        // The tokens that libpq expected and did not find. They are safe to show.
        let own = ["\"=\"", "\"]\"", "\":\"", "\"/\""]
        var start = text.startIndex
        while let quote = text[start...].firstIndex(of: "\"") {
            guard let known = own.first(where: { String(text[quote...]).hasPrefix($0) }) else {
                // Up to the last quote: the quoted text may itself contain quotes.
                let end = text.lastIndex(of: "\"").map { text.index(after: $0) } ?? text.endIndex
                return String(text[..<quote]) + PasswordField.mark + String(text[end...])
            }
            start = text.index(quote, offsetBy: known.unicodeScalars.count)
        }
        return String(text)
    }

    /// Refuses a URL in which libpq would take part of the password for the name of a host or a database, and so
    /// show it.
    private static func checkSigns(_ url: String) throws {
        guard let prefix = ["postgresql://", "postgres://"].first(where: url.hasPrefix) else { return }
        let rest = url.unicodeScalars.dropFirst(prefix.unicodeScalars.count)
        // As libpq parses it: the user and the password come before the first @, unless a slash comes first.
        guard let end = rest.firstIndex(where: { $0 == "@" || $0 == "/" }) else { return }
        let names = rest[end...].dropFirst().prefix { $0 != "?" }
        guard rest[..<end].contains(":"), !rest.starts(with: ["["]), names.contains("@") else { return }
        throw refusal("the database URL has more than one @: in a password, write @ as %40 and / as %2F")
    }

    private static func refusal(_ detail: String) -> LedgerError {
        LedgerError(
            .ledgerBadConfiguration,
            during: "read the address of the database",
            detail,
            hint:
                "use postgresql://user:password@host:5432/database?sslmode=verify-full, with special characters as %XX"
        )
    }

    /// Refuses values that libpq would accept, or would refuse only when it connects.
    private func check() throws {
        let modes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]
        if let mode = keywords["sslmode"], !modes.contains(mode) {
            throw Self.refusal("sslmode must be one of \(modes.joined(separator: ", ")), not \"\(mode)\"")
        }
        for port in list("port") where !port.isEmpty {
            guard let number = Int(port), (1...65_535).contains(number) else {
                throw Self.refusal("a port must be a number from 1 to 65535")
            }
        }
        if let name = keywords["dbname"], PasswordField.hidden(in: name) != name {
            throw Self.refusal("the name of the database is a URL with a password; use that URL as the address")
        }
        _ = try attempts()
        _ = try connectTimeout()
    }

    /// `connect_timeout`; `nil` if it is not set or 0. In libpq 0 means no limit, which Sluice does not offer.
    func connectTimeout() throws -> Duration? {
        guard let text = keywords["connect_timeout"] else { return nil }
        guard let seconds = Int(text) else { throw Self.refusal("connect_timeout must be a number of seconds") }
        return seconds > 0 ? .seconds(seconds) : nil
    }
}

extension Address {
    /// The connections to try, in order. Each has the keywords and values for one host.
    ///
    /// libpq tries several hosts by itself, but in non-blocking mode it has no time limit per host. A first host
    /// that drops packets would hide the others.
    func attempts() throws -> [Attempt] {
        let hosts = list("host")
        let numbers = list("hostaddr")
        let ports = list("port")
        let count = max(hosts.count, numbers.count, 1)
        for (name, listed) in [("host", hosts), ("host address", numbers)]
        where listed.count != count && !listed.isEmpty {
            throw Self.refusal(
                "the address has \(Plural.count(listed.count, name)) for \(Plural.count(count, "server"))"
            )
        }
        guard ports.count <= 1 || ports.count == count else {
            throw Self.refusal(
                "the address has \(Plural.count(ports.count, "port")) for \(Plural.count(count, "server"))"
            )
        }
        // A ledger needs writes, so of several hosts only a writable one will do.
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

    /// Defaults for what the address leaves out. With them, libpq notices a dead peer within a minute.
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

        /// Calls `body` with the arguments for `PQconnectStartParams`.
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
}

extension Address: CustomStringConvertible {
    var description: String {
        let hosts = list("host").isEmpty ? list("hostaddr") : list("host")
        let ports = list("port")
        let servers = hosts.enumerated().map { index, host in
            let shown =
                host.contains(":") ? "[\(host)]" : host.contains("/") ? host.replacingEvery("/", with: "%2F") : host
            let port = ports.isEmpty ? nil : ports.count == 1 ? ports[0] : ports[index]
            // Some of several ports may be empty: `a,b:5433`.
            return port.flatMap { $0.isEmpty ? nil : "\(shown):\($0)" } ?? shown
        }
        var text = "postgresql://"
        if let user = keywords["user"] { text += "\(user)@" }
        text += servers.joined(separator: ",")
        if let database = keywords["dbname"] { text += "/\(database)" }
        if let mode = keywords["sslmode"] { text += "?sslmode=\(mode)" }
        return text
    }
}

/// Owns a C string.
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
    /// This text with every occurrence of `part` replaced.
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
