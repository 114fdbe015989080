import HTTPServer
import Testing

/// The field Range.
@Suite struct ByteRangeTests {
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
}
