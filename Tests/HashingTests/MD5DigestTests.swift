import Hashing
import Testing

struct MD5DigestTests {
    /// From RFC 1321.
    @Test(arguments: [
        ("", "d41d8cd98f00b204e9800998ecf8427e"), ("abc", "900150983cd24fb0d6963f7d28e17f72"),
    ])
    func knownDigests(message: String, digest: String) throws {
        let found = try #require(MD5Digest.of(Array(message.utf8)))
        #expect(found.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined() == digest)
    }
}
