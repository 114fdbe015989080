import ObjectStorage
import Testing

/// Addresses of roots that are not folders.
struct AddressTests {
    private func refusal(_ text: String) -> String? {
        do {
            _ = WebAddress.isMeant(by: text) ? try WebAddress(text).text : try BucketAddress(text).text
            return nil
        } catch { return error.why }
    }

    // MARK: - Buckets

    @Test func bucketsAreFoundAtAWS() throws {
        let address = try BucketAddress("s3://recordings/2024/raw/?region=eu-central-1")
        #expect(address.bucket == "recordings")
        #expect(address.prefix == "2024/raw/")
        #expect(address.server(in: "eu-central-1").authority == "recordings.s3.eu-central-1.amazonaws.com")
        #expect(address.requestPath("a") == "/a")
        #expect(try address.key(of: "b/c.wav") == "2024/raw/b/c.wav")
        #expect(address.server(in: "cn-north-1").authority == "recordings.s3.cn-north-1.amazonaws.com.cn")
    }

    /// The certificate of AWS covers no such name.
    @Test func bucketsWithFullStopsAreNamedInThePath() throws {
        let address = try BucketAddress("s3://media.example.org")
        #expect(address.server(in: "us-east-1").authority == "s3.us-east-1.amazonaws.com")
        #expect(address.requestPath("a") == "/media.example.org/a")
        #expect(address.prefix.isEmpty)
    }

    @Test func endpointsAreAskedWithTheBucketInThePath() throws {
        let address = try BucketAddress("s3://inbox?endpoint=http://127.0.0.1:9000&region=garage")
        #expect(address.server(in: "garage") == StoreServer(isSecure: false, host: "127.0.0.1", port: 9_000))
        #expect(address.requestPath("") == "/inbox/")
        let named = try BucketAddress("s3://inbox?endpoint=https://s3.example.org&path-style=no")
        #expect(named.server(in: "x").authority == "inbox.s3.example.org")
        let six = try BucketAddress("s3://inbox?endpoint=https://[::1]:8443/")
        #expect(six.server(in: "x").authority == "[::1]:8443")
    }

    @Test(arguments: [
        "s3://bucket", "s3://bucket/a b/ü/",
        "s3://bucket/p/?endpoint=https://host:9000&region=r-1&path-style=no&storage-class=STANDARD_IA&sse=aws:kms"
            + "&kms-key=arn:aws:kms:eu-west-1:1:key/2%263&request-payer=requester&acl=bucket-owner-full-control"
            + "&profile=ci",
    ])
    func addressesAreWrittenAsTheyAreRead(text: String) throws {
        #expect(try BucketAddress(text).text == text)
    }

    @Test func keysBelowTheRootHavePaths() throws {
        let address = try BucketAddress("s3://bucket/p")
        #expect(address.path(of: "p/a/b.wav") == "a/b.wav")
        for key in ["p", "p/", "pa", "q/a", "p/a/", "p//a", "p/../a", "p/a\u{1}"] {
            #expect(address.path(of: key) == nil)
        }
        // A path is compared byte for byte.
        #expect(try BucketAddress("s3://bucket/\u{E4}").path(of: "a\u{308}/x") == nil)
        for path in ["", "/a", "a/", "a//b", ".", "a/../b", "a\nb"] {
            #expect(throws: AddressError.self) { try address.key(of: path) }
        }
        _ = try address.key(of: String(repeating: "x", count: 1_022))
        #expect(throws: AddressError.self) { try address.key(of: String(repeating: "x", count: 1_023)) }
    }

    @Test(arguments: [
        ("s3:bucket", "the address of a bucket begins with s3://"),
        ("s3://", "the name of the bucket is missing"),
        ("s3:///a", "the name of the bucket is missing"),
        ("s3://ab", "the name of the bucket must have from 3 to 63 characters"),
        ("s3://Bucket", "the name of the bucket must consist of lower-case letters, digits, hyphens and full stops"),
        (
            "s3://user@bucket",
            "the name of the bucket must consist of lower-case letters, digits, hyphens and full stops"
        ),
        (
            "s3://-bucket",
            "the name of the bucket must begin and end with a letter or a digit, without two full stops in a row"
        ),
        ("s3://arn:aws:s3:eu:1:accesspoint", "the name of the bucket is an ARN: access points are not supported"),
        ("s3://bucket//a", "the prefix contains an empty name: two slashes, or one at the beginning"),
        ("s3://bucket/a/../b", "the prefix contains the name .., which is not followed here"),
        ("s3://bucket?colour=red", "colour is no option of a bucket"),
        ("s3://bucket?region=a&region=b", "region is given twice"),
        ("s3://bucket?region=", "the value of region is not a word like eu-central-1"),
        ("s3://bucket?region=%0A", "the value of region contains a space or a character that is not of ASCII"),
        ("s3://bucket?region=%zz", "the value of region is not percent-encoded text"),
        ("s3://bucket?endpoint=host", "the endpoint begins with neither https:// nor http://"),
        ("s3://bucket?endpoint=https://host/path", "the endpoint is not a host with an optional port"),
        ("s3://bucket?endpoint=https://host:0", "the endpoint is not a host with an optional port"),
        ("s3://bucket?endpoint=https://user:word@host", "the endpoint is not a host with an optional port"),
        ("s3://bucket?sse=rot13", "sse must be one of AES256, aws:kms, aws:kms:dsse"),
        ("s3://bucket?kms-key=k", "kms-key needs sse=aws:kms"),
        ("s3://bucket?kms-key=k&sse=AES256", "kms-key needs sse=aws:kms"),
        ("s3://bucket?path-style=maybe", "path-style must be one of yes, no"),
        ("s3://bucket?request-payer=me", "request-payer must be one of requester"),
        ("s3://bucket?storage-class=warm", "the value of storage-class is not a word like STANDARD_IA"),
    ])
    func wrongAddressesAreRefused(text: String, why: String) { #expect(refusal(text) == why) }

    @Test func wrongAccessControlIsRefused() throws {
        #expect(try #require(refusal("s3://bucket?acl=all")).hasPrefix("acl must be one of private, public-read"))
    }

    // MARK: - Web servers

    @Test func filesOfWebServersHaveURLs() throws {
        let address = try WebAddress("https://Media.Example.org:8443/a%20b/")
        #expect(address.prefix == "a b/")
        #expect(try address.url(of: "c d/ü#?.wav") == "https://media.example.org:8443/a%20b/c%20d/%C3%BC%23%3F.wav")
        #expect(try WebAddress("https://host").text == "https://host/")
        #expect(try WebAddress("https://host/a%3F").url(of: "100 %") == "https://host/a%3F/100%20%25")
        #expect(throws: AddressError.self) { try address.url(of: "../x") }
    }

    @Test(arguments: [
        "https://host/", "https://host:8443/a%20b/?allow-private", "http://host/a/?allow-http",
        "http://[::1]:8080/?allow-http&allow-private",
    ])
    func webAddressesAreWrittenAsTheyAreRead(text: String) throws { #expect(try WebAddress(text).text == text) }

    @Test(arguments: [
        ("http://host/a", "a root on a web server begins with https://"),
        ("https://", "the address names no host"),
        ("https://user:word@host/", "the address contains a user name, which commands and logs would show"),
        ("https://host/a?b", "b is no option of a root on a web server"),
        ("https://host/a#b", "the address of a root contains a fragment"),
        ("https://host/a?allow-http#b", "allow-http#b is no option of a root on a web server"),
        ("https://host/a/%2E%2E/b", "the path contains the name .., which is not followed here"),
        ("https://host/%00", "the path contains a control character"),
        ("https://host/a%2Fb", "the path contains a slash within a name (%2F), which no location can have"),
        ("https://host/%FF", "the path is not percent-encoded text"),
    ])
    func wrongWebAddressesAreRefused(text: String, why: String) { #expect(refusal(text) == why) }
}
