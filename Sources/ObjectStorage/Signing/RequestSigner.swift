import Hashing
package import WebClient

/// Signs requests to object stores by AWS Signature Version 4.
///
/// libcurl has a signer, which differs between its versions: that of Debian 12 signs the wrong hash for uploads and does
/// not sort parameters. None of them makes presigned URLs.
package struct RequestSigner: Sendable {
    package let credentials: StoreCredentials
    /// As in `eu-central-1`; `auto` for some stores.
    package let region: String
    private static let algorithm = "AWS4-HMAC-SHA256"

    package init(_ credentials: StoreCredentials, region: String) {
        self.credentials = credentials
        self.region = region
    }

    /// The headers with which `request` is sent, the signature among them. libcurl adds `Host`.
    package func sign(_ request: StoreRequest, at time: StoreTime) -> [WebRequest.Header] {
        var headers = request.headers
        headers.append(WebRequest.Header("x-amz-content-sha256", request.bodyHash))
        headers.append(WebRequest.Header("x-amz-date", time.compact))
        if let token = credentials.sessionToken { headers.append(WebRequest.Header("x-amz-security-token", token)) }
        let signed = Self.canonical(headers + [WebRequest.Header("host", request.server.authority)])
        let canonical = CanonicalRequest(
            method: request.method,
            path: request.encodedPath,
            query: StoreRequest.encoded(request.parameters),
            headers: signed,
            bodyHash: request.bodyHash
        )
        let authorization =
            "\(Self.algorithm) Credential=\(credentials.keyID)/\(scope(time)),SignedHeaders=\(canonical.names),"
            + "Signature=\(signature(of: canonical, at: time))"
        headers.append(WebRequest.Header("Authorization", authorization))
        return headers
    }

    /// The longest time for which a presigned URL is valid.
    package static let longestPresigned: Duration = .seconds(7 * 86_400)

    /// A URL with which a program without credentials can send `request` until `duration` has passed since `time`, or until
    /// the credentials end. The program sends the headers of `request`, which are signed, and any body.
    package func presign(_ request: StoreRequest, at time: StoreTime, for duration: Duration) -> String {
        let seconds = max(1, min(duration, Self.longestPresigned).components.seconds)
        let headers = Self.canonical(request.headers + [WebRequest.Header("host", request.server.authority)])
        var parameters = request.parameters
        parameters.append(.init("X-Amz-Algorithm", Self.algorithm))
        parameters.append(.init("X-Amz-Credential", "\(credentials.keyID)/\(scope(time))"))
        parameters.append(.init("X-Amz-Date", time.compact))
        parameters.append(.init("X-Amz-Expires", String(seconds)))
        if let token = credentials.sessionToken { parameters.append(.init("X-Amz-Security-Token", token)) }
        parameters.append(.init("X-Amz-SignedHeaders", headers.map(\.name).joined(separator: ";")))
        let canonical = CanonicalRequest(
            method: request.method,
            path: request.encodedPath,
            query: StoreRequest.encoded(parameters),
            headers: headers,
            // What is sent is not known yet.
            bodyHash: "UNSIGNED-PAYLOAD"
        )
        parameters.append(.init("X-Amz-Signature", signature(of: canonical, at: time)))
        return request.url(with: parameters)
    }

    private func scope(_ time: StoreTime) -> String { "\(time.day)/\(region)/s3/aws4_request" }

    private func signature(of request: CanonicalRequest, at time: StoreTime) -> String {
        let text = [
            Self.algorithm, time.compact, scope(time), StoreRequest.hash(of: Array(request.text.utf8)),
        ].joined(separator: "\n")
        var key = Array("AWS4\(credentials.secret)".utf8)
        for word in [time.day, region, "s3", "aws4_request"] {
            key = SHA256Hash.authentication(of: Array(word.utf8), key: key)
        }
        return SHA256Hash.authentication(of: Array(text.utf8), key: key).hexadecimal
    }

    /// Names in lower case and sorted, values without spaces around them and with single spaces inside. Several headers of
    /// one name become one.
    static func canonical(_ headers: [WebRequest.Header]) -> [WebRequest.Header] {
        var values: [String: [String]] = [:]
        for header in headers {
            let words = header.value.split(separator: " ", omittingEmptySubsequences: true)
            values[header.name.lowercased(), default: []].append(words.joined(separator: " "))
        }
        let names = values.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        return names.map { WebRequest.Header($0, values[$0, default: []].joined(separator: ",")) }
    }
}

/// The text of a request that both sides compute alike and sign.
struct CanonicalRequest {
    let method: String
    /// Encoded once, as object stores want it; other services of AWS encode it twice and normalise it.
    let path: String
    let query: String
    let headers: [WebRequest.Header]
    let bodyHash: String

    /// The names of the signed headers.
    var names: String { headers.map(\.name).joined(separator: ";") }

    var text: String {
        let lines = [method, path, query] + headers.map { "\($0.name):\($0.value)" } + ["", names, bodyHash]
        return lines.joined(separator: "\n")
    }
}
