import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// Files whose names no location can hold are left out of folders and lists, and reported.
struct SubmitNamesTests {
    let bench: LedgerBench

    init() throws {
        bench = try LedgerBench()
        try bench.files("in/a.wav", "in/two\nlines.wav", "in/b c.wav", "in/tab\there.wav", "in/bell\u{7}.txt")
        try makeLatin("/in/latin", ".wav")
        try makeLatin("/in/notes", ".txt")
    }

    /// Creates a file whose name contains the Latin-1 byte of an accented e.
    private func makeLatin(_ start: String, _ end: String) throws {
        let bytes: [UInt8] = Array((bench.folder.path + start).utf8) + [0xE9] + Array(end.utf8) + [0]
        let made = bytes.withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { open($0.baseAddress!, O_CREAT | O_WRONLY, 0o600) }
        }
        try #require(made >= 0)
        close(made)
    }

    @Test func namesThatCannotBeUsedAreLeftOutOfAFolder() async throws {
        let run = try bench.run(["submit", "-r", "in"] + LedgerBench.usual).checked()
        #expect(try await bench.ways() == ["in/a.wav > out/a.mp3", "in/b c.wav > out/b c.mp3"])
        let lines = run.errorText.split(separator: "\n").map { $0.dropFirst(7) }
        #expect(lines.contains("3 names cannot be used and left out; with --strict-names this is an error"))
        #expect(lines.contains { $0.hasSuffix(#"in/two\u{a}lines.wav: it contains control characters"#) })
        #expect(lines.contains { $0.hasSuffix(#"in/tab\u{9}here.wav: it contains control characters"#) })
        #expect(lines.contains { $0.hasSuffix("in/latin\u{FFFD}.wav: is not valid UTF-8") })
        #expect(!run.errorText.contains("bell") && !run.errorText.contains("notes"))
    }

    @Test func fileWhoseNameBeginsLikeALocationIsAFile() async throws {
        try bench.files("12:30.wav", "in/talk:1.wav")
        _ = try bench.run(["submit", "12:30.wav", "elsewhere:a.wav"] + LedgerBench.usual).checked()
        #expect(try await bench.ways().contains("12:30.wav > out/12:30.mp3"))
        try bench.files("elsewhere:a.wav")
        let list = bench.folder.path("list")
        try "12:30.wav\nelsewhere:a.wav\n".write(toFile: list, atomically: true, encoding: .utf8)
        _ = try bench.run(["submit", "--files-from", list, "--to", "again/{stem}.mp3"]).checked()
        #expect(try await bench.ways().filter { $0.hasPrefix("elsewhere:a.wav > ") }.count == 1)
    }

    /// Names that look the same but differ in their bytes, and names that begin with a combining mark, which
    /// combines with the slash before it.
    @Test func filesWhoseNamesOnlyLookTheSameAreTwo() async throws {
        try bench.files("odd/\u{E9}.wav", "odd/e\u{301}.wav", "odd/\u{301}x.wav")
        let run = try bench.run(["submit", "-r", "odd"] + LedgerBench.usual).checked()
        #expect(!run.errorText.contains("more than once"))
        let ways = try await bench.ways().map { Array($0.utf8) }
        let names = ["\u{E9}", "e\u{301}", "\u{301}x"]
        #expect(ways.count == 3)
        for name in names { #expect(ways.contains(Array("odd/\(name).wav > out/\(name).mp3".utf8)), "\(name)") }
    }

    @Test func strictNamesRefuseTheWhole() async throws {
        let run = try bench.run(["submit", "-r", "in", "--strict-names"] + LedgerBench.usual)
        #expect(run.status == .exited(1))
        #expect(run.errorText.contains("error: 3 names cannot be used; nothing was submitted\n"))
        #expect(run.errorText.contains(#"two\u{a}lines.wav: it contains control characters"#))
        #expect(run.errorText.contains("latin\u{FFFD}.wav: is not valid UTF-8"))
        let words =
            ["submit", "-r", "in", "--exclude", "two*", "--exclude", "tab*", "--strict-names"] + LedgerBench.usual
        #expect(try bench.run(words).errorText.contains("1 name cannot be used"))
        #expect(try await bench.ledger.batches().isEmpty)
    }

    /// A path longer than the kernel accepts is reported, and the other files are submitted.
    @Test func pathsThatAreTooLongAreNamed() async throws {
        let long =
            "far:" + Array(repeating: String(repeating: "d", count: 250), count: 17).joined(separator: "/") + "/a.wav"
        let words = ["submit", "--files-from", "-", "--to", "out/{stem}.mp3", "--preset", "podcast-mp3"]
        let list = Run.Input.data(Data("in/a.wav\n\(long)\n".utf8))
        let run = try bench.run(words, input: list).checked()
        #expect(try await bench.ways() == ["in/a.wav > out/a.mp3"])
        #expect(run.errorText.contains("1 name cannot be used and left out"))
        #expect(run.errorText.contains("/a.wav: its path has 4272 bytes; the limit is 4095"))
        let strict = try bench.run(words + ["--strict-names"], input: list)
        #expect(strict.status == .exited(1) && strict.errorText.contains("its path has 4272 bytes"))
    }

    @Test func aNameOnTheCommandLineIsNeverLeftOut() async throws {
        let run = try bench.run(["submit", "in/two\nlines.wav", "in/a.wav"] + LedgerBench.usual)
        #expect(run.status == .exited(1))
        #expect(run.errorText.hasPrefix("error: 1 name cannot be used; nothing was submitted\n"))
        #expect(try await bench.ledger.batches().isEmpty)
    }

    @Test func namesThatCannotBeUsedAreLeftOutOfLists() async throws {
        let list = Data("in/a.wav\0in/two\nlines.wav\0in/latin".utf8) + [0xE9] + Data(".wav\0in/b c.wav".utf8)
        let words = ["submit", "--files-from", "-", "-0", "--to", "out/{stem}.mp3", "--preset", "podcast-mp3"]
        let strict = try bench.run(words + ["--strict-names"], input: .data(list))
        #expect(strict.status == .exited(1) && strict.errorText.contains("error: 2 names cannot be used;"))
        let run = try bench.run(words, input: .data(list)).checked()
        #expect(run.errorText.contains("2 names cannot be used and left out"))
        #expect(try await bench.ways() == ["in/a.wav > out/a.mp3", "in/b c.wav > out/b c.mp3"])
    }

    @Test func namesThatAreLeftOutAreCountedForPrograms() throws {
        for number in 0..<7 { try bench.files("in/\(number)\n.wav") }
        let plan = try bench.record(["submit", "-r", "in", "--dry-run", "--json"] + LedgerBench.usual)
        let left = try #require(plan["leftOut"] as? [String: Any])
        #expect(left["count"] as? Int == 10 && (left["first"] as? [String])?.count == 5)
        #expect(plan["isForbidden"] as? Bool == false && plan["jobs"] as? Int == 2)
        let receipt = try bench.record(["submit", "-r", "in", "--json"] + LedgerBench.usual)
        #expect((receipt["leftOut"] as? [String: Any])?["count"] as? Int == 10)
        let again = try bench.record(["submit", "in/a.wav", "--json"] + LedgerBench.usual)
        #expect(again["leftOut"] == nil)
    }

    @Test func aFolderWithNothingButSuchNamesHasNothingToSubmit() throws {
        try bench.files("odd/x\ny.wav")
        let run = try bench.run(["submit", "-r", "odd"] + LedgerBench.usual)
        #expect(run.status == .exited(9))
        #expect(run.errorText.hasPrefix("note:  1 name cannot be used and left out;"))
        #expect(run.errorText.contains("error: nothing to submit\n"))
    }
}

extension LedgerBench {
    /// The only line of JSON that a command prints.
    fileprivate func record(_ words: [String]) throws -> [String: Any] {
        let run = try run(words).checked()
        return try #require(try JSONSerialization.jsonObject(with: run.stdout) as? [String: Any])
    }
}
