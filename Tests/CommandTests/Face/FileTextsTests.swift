import Face
import Testing

/// What requests say about files: ranges, digests, paths.
@Suite struct FileTextsTests {
    @Test(arguments: [
        ("bytes=0-0", ByteRange.part(0..<1)), ("bytes=0-", .part(0..<10)), ("bytes=3-5", .part(3..<6)),
        ("bytes=9-9", .part(9..<10)), ("bytes=9-99", .part(9..<10)), ("bytes=-1", .part(9..<10)),
        ("bytes=-99", .part(0..<10)), ("BYTES=3-5", .part(3..<6)), ("bytes=0-99999999999999999999", .part(0..<10)),
        ("bytes=10-", .outside), ("bytes=-0", .outside), ("bytes=99999999999999999999-", .outside),
        ("bytes=5-3", .whole), ("bytes=1-2,4-5", .whole), ("bytes=", .whole), ("bytes=-", .whole),
        ("bytes=--1", .whole), ("bytes=+1-2", .whole), ("bytes=1 - 2", .whole), ("lines=1-2", .whole), ("", .whole),
        ("bytes=٣-", .whole),
    ])
    func `a range is read`(field: String, range: ByteRange) {
        #expect(ByteRange(field, of: 10) == range)
        #expect(ByteRange(nil, of: 10) == .whole)
    }

    @Test(arguments: ["bytes=0-", "bytes=-5", "bytes=0-0"]) func `an empty file has no range`(field: String) {
        #expect(ByteRange(field, of: 0) == .outside)
    }

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
