import ObjectStorage
import Testing
import WebClient

/// Signatures, against the examples that AWS publishes for S3, and against those that botocore makes.
struct RequestSignerTests {
    private static let credentials = StoreCredentials(
        keyID: "AKIAIOSFODNN7EXAMPLE",
        secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    )
    private static let signer = RequestSigner(credentials, region: "us-east-1")
    private static let server = StoreServer(host: "examplebucket.s3.amazonaws.com")
    /// 24 May 2013.
    private static let time = StoreTime(seconds: 1_369_353_600)

    private static func request(
        _ method: String,
        _ path: String,
        _ parameters: [StoreRequest.Parameter] = [],
        headers: [WebRequest.Header] = [],
        body: String = ""
    ) -> StoreRequest {
        var request = StoreRequest(method, server, path: path)
        (request.parameters, request.headers) = (parameters, headers)
        request.bodyHash = StoreRequest.hash(of: Array(body.utf8))
        return request
    }

    /// The headers that are signed, and the signature.
    private static func authorization(
        _ request: StoreRequest,
        by signer: RequestSigner = signer
    ) throws -> (names: Substring, signature: Substring) {
        let header = signer.sign(request, at: time).first { $0.name == "Authorization" }
        let parts = try #require(header).value.split(separator: ",")
        try #require(parts.count == 3)
        return (parts[1].dropFirst("SignedHeaders=".count), parts[2].dropFirst("Signature=".count))
    }

    @Test(arguments: [
        (
            request("GET", "/test.txt", headers: [WebRequest.Header("Range", "bytes=0-9")]),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
        ),
        (
            request(
                "PUT",
                "/test$file.text",
                headers: [
                    WebRequest.Header("Date", "Fri, 24 May 2013 00:00:00 GMT"),
                    WebRequest.Header("x-amz-storage-class", "REDUCED_REDUNDANCY"),
                ],
                body: "Welcome to Amazon S3."
            ),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
        ),
        (request("GET", "/", [.init("lifecycle")]), "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        (
            request("GET", "/", [.init("prefix", "J"), .init("max-keys", "2")]),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
        ),
    ])
    func signaturesAreThoseOfThePublishedExamples(request: StoreRequest, signature: String) throws {
        #expect(try Self.authorization(request).signature == signature)
    }

    @Test func presignedURLIsThatOfThePublishedExample() {
        let url = Self.signer.presign(Self.request("GET", "/test.txt"), at: Self.time, for: .seconds(86_400))
        #expect(
            url == "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"
                + "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
                + "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400"
                + "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
                + "&X-Amz-SignedHeaders=host"
        )
    }

    /// Made by botocore 1.43.11 with the same credentials and time.
    @Test(arguments: [
        (
            request(
                "PUT",
                "/a b/%20//../ä+=(~)*'!:@,;&$",
                [.init("uploadId", "x/y+z=="), .init("partNumber", "10")],
                body: "part"
            ),
            "dc6758aba7999debdc1ed6b9ea3c7c0c7e502b1c8a734d724d1b22b59cf89a72"
        ),
        (
            request(
                "GET",
                "/",
                [
                    .init("list-type", "2"), .init("prefix", "ü/ x"), .init("encoding-type", "url"),
                    .init("continuation-token", "1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM="),
                ]
            ),
            "daef2c707e533fd3e03f7605074a0a22fab3ebe115cefb219774b385c0c41488"
        ),
        (
            request(
                "POST",
                "/key",
                [.init("uploads")],
                headers: [WebRequest.Header("Content-Type", "application/xml")]
            ),
            "103b0ebd7b53f93b1e7182aaa1f9704c49fdeb4ddc50f71a7cefa3e925c4bafb"
        ),
    ])
    func signaturesAreThoseOfBotocore(request: StoreRequest, signature: String) throws {
        #expect(try Self.authorization(request).signature == signature)
    }

    @Test func signatureWithATokenIsThatOfBotocore() throws {
        let credentials = StoreCredentials(
            keyID: Self.credentials.keyID,
            secret: Self.credentials.secret,
            sessionToken: "a+b/c=="
        )
        let headers = [
            WebRequest.Header("If-None-Match", "*"), WebRequest.Header("x-amz-meta-b", "two   words"),
            WebRequest.Header("x-amz-acl", "private"),
        ]
        let request = Self.request("PUT", "/key", headers: headers, body: "x")
        let signed = try Self.authorization(request, by: RequestSigner(credentials, region: "us-east-1"))
        #expect(signed.signature == "c9040e87424fc33a5ec850fabbea92fd173fdda6e101e954aa0ff1d534ed952c")
    }

    @Test func presignedURLWithATokenIsThatOfBotocore() {
        let credentials = StoreCredentials(
            keyID: Self.credentials.keyID,
            secret: Self.credentials.secret,
            sessionToken: "t/k="
        )
        let request = Self.request(
            "PUT",
            "/out/a b.mp3",
            [.init("partNumber", "1"), .init("uploadId", "u+1")],
            headers: [WebRequest.Header("x-amz-meta-sluice-order", "7")]
        )
        let url = RequestSigner(credentials, region: "us-east-1").presign(request, at: Self.time, for: .seconds(900))
        #expect(
            url.contains("&X-Amz-Signature=e19f98ece16acb740387c9ab11f949fa5eae3fea88423313baa9334b468417ea&")
        )
    }

    @Test func allHeadersAreSigned() throws {
        let signer = RequestSigner(
            StoreCredentials(keyID: "A", secret: "b", sessionToken: "token"),
            region: "us-east-1"
        )
        var request = Self.request("PUT", "/a")
        request.headers = [WebRequest.Header("If-None-Match", "*"), WebRequest.Header("x-amz-meta-b", " two   words ")]
        #expect(
            try Self.authorization(request, by: signer).names
                == "host;if-none-match;x-amz-content-sha256;x-amz-date;x-amz-meta-b;x-amz-security-token"
        )
    }

    @Test func emptyTokenIsNoToken() {
        let credentials = StoreCredentials(keyID: "A", secret: "b", sessionToken: "")
        let headers = RequestSigner(credentials, region: "r").sign(Self.request("GET", "/"), at: Self.time)
        #expect(!headers.contains { $0.name == "x-amz-security-token" })
    }

    @Test func presignedURLEndsWithinAWeek() {
        let url = Self.signer.presign(Self.request("GET", "/a"), at: Self.time, for: .seconds(90 * 86_400))
        #expect(url.contains("&X-Amz-Expires=604800&"))
    }

    @Test func pathsAreEncodedOnceAndNotNormalised() {
        let request = Self.request("GET", "/a b/%20//../ä+=(~)*'!")
        #expect(
            request.url
                == "https://examplebucket.s3.amazonaws.com/a%20b/%2520//../%C3%A4%2B%3D%28~%29%2A%27%21"
        )
    }

    @Test func usualPortIsLeftOut() {
        #expect(StoreServer(host: "Store", port: 443).authority == "store")
        #expect(StoreServer(isSecure: false, host: "store", port: 443).authority == "store:443")
        #expect(StoreServer(isSecure: false, host: "store", port: 80).authority == "store")
    }

    @Test func credentialsAreNeverPrinted() {
        let credentials = StoreCredentials(keyID: "AKIAIOSFODNN7", secret: "hidden", sessionToken: "hidden")
        var dumped = ""
        dump(RequestSigner(credentials, region: "r"), to: &dumped)
        for text in ["\(credentials)", String(reflecting: credentials), "\([credentials])", dumped] {
            #expect(!text.contains("hidden"))
        }
    }
}
