import TestSupport
import Testing

@testable import Command
@testable import Console

/// A list of paths is read block by block.
struct PathListTests {
    private static let list: [UInt8] =
        Array("a.wav\n\nb c.wav\r\n\r\n\u{E9}/\u{1F3B5}.wav\n".utf8) + [0xFF, 0x2E, 0x0A] + Array("last\0one".utf8)

    /// Otherwise all of a list with other ends would be one path in memory, and in the error about it.
    @Test(arguments: [(false, "with -0, paths end with NUL"), (true, "without -0, paths end with line feeds")])
    func listWithOtherEndsIsRefused(byNull: Bool, hint: String) throws {
        let folder = try TemporaryFolder.create()
        let text = (0..<100_000).map { "a folder/\($0).wav" }.joined(separator: byNull ? "\n" : "\0")
        try Bytes.write(Array(text.utf8), to: folder.path("list"))
        var longest = 0
        let refusal = try #require(throws: Refusal.self) {
            try PathList.read(folder.path("list"), byNull: byNull) { path, _ in
                longest = max(longest, path?.utf8.count ?? 0)
            }
        }
        #expect(refusal.exitCode == .usage && refusal.hint == hint && longest == 0)
        #expect(refusal.message.utf8.count < 1_000)
    }

    @Test(arguments: [false, true])
    func blocksOfAnyLengthMakeTheSamePaths(byNull: Bool) {
        let whole = TextReading.list(Self.list, byNull: byNull).map { [$0.path ?? "-", $0.shown] }
        let paths: [String] = ["a.wav", "b c.wav", "\u{E9}/\u{1F3B5}.wav", "-", "last\0one"]
        if byNull { #expect(whole.map { $0[0] } == ["-", "one"]) } else { #expect(whole.map { $0[0] } == paths) }
        for length in 1...Self.list.count {
            var division = PathList.Division(byNull: byNull)
            var found: [[String]] = []
            for start in stride(from: 0, to: Self.list.count, by: length) {
                let block = Self.list[start..<min(start + length, Self.list.count)]
                division.take(block) { path, shown in found.append([path ?? "-", shown()]) }
            }
            division.end { path, shown in found.append([path ?? "-", shown()]) }
            #expect(found == whole, "blocks of \(length) bytes")
        }
    }
}
