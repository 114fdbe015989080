import Testing

@testable import Console

/// The grammar of `sluice.conf`, and what it refuses.
struct SettingsFileTests {
    private static let level = SettledOption<Int>(
        "level",
        .whole(in: 1...9),
        fallback: "5",
        "how much",
        environment: "SLUICE_LEVEL",
        in: .work
    )
    private static let word = Option<String>(
        "word",
        .text.named("WORD"),
        "what to say",
        isRepeatable: true,
        in: .work
    )
    private static let forms = [level.form, word.form]

    private func texts(_ text: String) throws(UsageError) -> [String] {
        try SettingsFile(path: "/etc/x.conf", text: text, forms: Self.forms).entries(of: Self.word.form).map(\.text)
    }

    private func refusal(_ text: String) -> UsageError? {
        do throws(UsageError) {
            _ = try SettingsFile(path: "/etc/x.conf", text: text, forms: Self.forms)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        ("word = a", ["a"]), ("word=a", ["a"]), ("  word\t=  a b \t", ["a b"]), ("word = a\nword = b", ["a", "b"]),
        ("word = a\r\nword = b\r\n", ["a", "b"]), ("# word = a", []), ("", []), ("\n\n  # x\n", []),
        ("word = a # comment", ["a"]), ("word = a#b", ["a#b"]), ("word = a=b", ["a=b"]),
        ("word = \"a # b\" # comment", ["a # b"]), ("word = \" a \"", [" a "]),
        (#"word = "a\"b\\c""#, [#"a"b\c"#]), (#"word = a"b"#, [#"a"b"#]), ("word = ü", ["ü"]),
    ])
    func valuesAreRead(text: String, expected: [String]) throws {
        #expect(try texts(text) == expected)
    }

    @Test(arguments: [
        ("level = 5\nwrod = a", "/etc/x.conf:2: unknown key \"wrod\"; did you mean \"word\"?"),
        ("colour = a", "/etc/x.conf:1: unknown key \"colour\""), ("= a", "/etc/x.conf:1: unknown key \"\""),
        ("level", "/etc/x.conf:1: expected KEY = VALUE"), ("[worker]", "/etc/x.conf:1: expected KEY = VALUE"),
        ("level = 10", "/etc/x.conf:1: level: must be a whole number from 1 to 9"),
        ("level = 1\nlevel = 2", "/etc/x.conf:2: level is set twice"),
        ("word =", "/etc/x.conf:1: word: the value is missing"),
        ("word = \"\"", "/etc/x.conf:1: word: must not be empty"),
        ("word = # a", "/etc/x.conf:1: word: the value is missing"),
        (#"word = "a"#, "/etc/x.conf:1: word: the quotes do not fit"),
        (#"word = "a" b"#, "/etc/x.conf:1: word: the quotes do not fit"),
        (#"word = "a\n""#, "/etc/x.conf:1: word: the quotes do not fit"),
    ])
    func mistakesAreNamedWithTheirLine(text: String, expected: String) throws {
        let error = try #require(refusal(text))
        #expect(error.message == expected && error.exitCode == .configuration)
    }

    @Test func fileStandsBelowTheEnvironmentAndAboveDefaults() throws {
        let command = Subcommand(name: "go", summary: "x", options: Self.forms)
        let root = Subcommand(name: "sluice", summary: "x", children: [command])
        let file = try SettingsFile(path: "/f", text: "level = 3\nword = a\nword = b", forms: Self.forms)
        func read(_ words: [String], _ environment: [String: String] = [:]) throws -> Invocation {
            guard case .run(_, let invocation) = try WordReader(root: root, environment: environment).read(words)
            else { throw UsageError("help") }
            return invocation.filled(from: file)
        }
        let bare = try read(["go"])
        #expect(bare[Self.level] == 3 && bare.all(Self.word) == ["a", "b"])
        #expect(bare.origin(of: Self.word.form) == .file(path: "/f", line: 3))
        #expect(try read(["go"], ["SLUICE_LEVEL": "4"])[Self.level] == 4)
        #expect(try read(["go", "--level", "5"])[Self.level] == 5)
        // A list on the command line replaces the list of the file.
        #expect(try read(["go", "--word", "c"]).all(Self.word) == ["c"])
    }
}
