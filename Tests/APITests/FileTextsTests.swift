import API
import Testing

/// What requests say about files: digests and paths.
@Suite struct FileTextsTests {
    private static let digest = ":RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"

    @Test func `a digest is read`() throws {
        let bytes = try #require(try DigestField.sha256(in: "sha-256=\(Self.digest)"))
        #expect(bytes.count == 32 && bytes[0] == 0x44)
        #expect(DigestField.text(bytes) == "sha-256=\(Self.digest)")
        #expect(try DigestField.sha256(in: "md5=:AAAA:, sha-256=\(Self.digest) , sha-512=:AAAA:") == bytes)
        #expect(try DigestField.sha256(in: "sha-512=:AAAA:") == nil)
    }

    @Test(arguments: [
        "", ",", "sha-256", "sha-256=", "sha-256=:", "sha-256=::", "sha-256=:AAAA:", "sha-256=\(digest)x", "=",
        "sha-256=\(digest),",
        "sha-256=:RK_0qy18MlBSVnWgjwz6lZEWjP_lF5HF9bvEF8FabDg=:", "sha-256=44aff4ab",
    ])
    func `what is no digest is refused`(field: String) {
        #expect(throws: Problem.self) { try DigestField.sha256(in: field) }
    }

    @Test(arguments: ["a", "a/b.wav", "...", "a b/ü", ".hidden", "a\\b", "%2e%2e", "C:/x", "-", "~"])
    func `a path is taken as it is`(path: String) throws {
        #expect(try "\(FilePlace.location(root: "in", path: path))" == "in:\(path)")
    }

    @Test(arguments: [
        "", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b", "a\u{0}b", "a\nb", "\u{7f}", "\u{85}",
        "\u{2028}",
        String(repeating: "x", count: 256), Array(repeating: "d", count: 33).joined(separator: "/"), ".a.sluice-1.part",
        "b/.a.sluice-1-1-00000000000000000000000000000000.attempt",
    ])
    func `a path that could lead elsewhere is refused`(path: String) {
        #expect(throws: Problem.self) { try FilePlace.location(root: "in", path: path) }
    }
}
