import Hashing
import Testing

/// Digests and signatures, against the vectors of FIPS 180 and RFC 4231.
struct SHA256HashTests {
    private func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    ])
    func digestsAreThoseOfTheStandard(message: String, digest: String) {
        #expect(hexadecimal(SHA256Hash.digest(of: Array(message.utf8))) == digest)
    }

    @Test func piecesGiveTheDigestOfTheWhole() {
        let hash = SHA256Hash()
        let piece = [UInt8](repeating: UInt8(ascii: "a"), count: 999)
        var left = 1_000_000
        while left > 0 {
            let count = min(left, piece.count)
            piece.prefix(count).withUnsafeBytes { hash.add($0) }
            left -= count
        }
        #expect(
            hexadecimal(hash.finish()) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        )
    }

    @Test(arguments: [
        (
            [UInt8](repeating: 0x0B, count: 20), "Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            [UInt8](repeating: 0xAA, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
    ])
    func signaturesAreThoseOfTheStandard(key: [UInt8], message: String, signature: String) {
        #expect(hexadecimal(SHA256Hash.authentication(of: Array(message.utf8), key: key)) == signature)
    }

    @Test(arguments: [
        ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"), ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
    ])
    func olderDigestsAreThoseOfTheStandard(message: String, digest: String) {
        #expect(hexadecimal(SHA1Digest.of(Array(message.utf8))) == digest)
    }
}
