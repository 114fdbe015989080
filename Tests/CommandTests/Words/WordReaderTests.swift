import Conversion
import Testing

@testable import Command
@testable import Console

/// How a command line becomes a command.
struct WordReaderTests {
    private static let size = Option<Int>("size", letter: "s", .whole(in: 1...100), "how large", in: .format)
    private static let tag = Option<TagWish>("tag", .tag, "a tag", isRepeatable: true, in: .destination)
    private static let level = SettledOption<ProgressStyle>(
        "level",
        .choice("STYLE"),
        fallback: "auto",
        "how loud",
        environment: "SLUICE_LEVEL",
        in: .output
    )
    private static let quiet = Switch("quiet", letter: "q", "say nothing", in: .output)
    private static let recursive = Switch("recursive", letter: "r", "folders as well", in: .source)
    private static let files = Argument(name: "FILE", summary: "what to copy", count: .oneOrMore)
    private static let target = Argument(name: "TARGET", summary: "where to")
    private static let place = Argument(name: "PLACE", summary: "where", count: .optional)

    private static let root = Subcommand(
        name: "tool",
        summary: "a tool",
        options: [quiet.form],
        children: [
            Subcommand(
                name: "copy",
                summary: "copy files",
                arguments: [files, target],
                options: [size.form, tag.form, level.form, recursive.form]
            ),
            Subcommand(
                name: "queue",
                summary: "queues",
                children: [Subcommand(name: "pause", summary: "pause one", arguments: [place])]
            ),
            Subcommand(name: "secret", summary: "hidden", isHidden: true),
        ]
    )

    private func read(_ words: String..., environment: [String: String] = [:]) throws -> WordReader.Request {
        try WordReader(root: Self.root, environment: environment).read(words)
    }

    private func invocation(_ words: String..., environment: [String: String] = [:]) throws -> Invocation {
        guard case .run(_, let invocation) = try WordReader(root: Self.root, environment: environment).read(words)
        else {
            throw UsageError("these words ask for help")
        }
        return invocation
    }

    private func refusal(_ words: String..., environment: [String: String] = [:]) -> UsageError? {
        do {
            _ = try WordReader(root: Self.root, environment: environment).read(words)
            return nil
        } catch {
            return error
        }
    }

    // MARK: - Values

    @Test func aLineIsTypedAgainWithOtherOptions() throws {
        let forms = [Self.size.form]
        for words in [["copy", "--size=7", "a", "b"], ["copy", "--size", "7", "a", "b"], ["copy", "a", "b"]] {
            guard case .run(_, let invocation) = try WordReader(root: Self.root, environment: [:]).read(words) else {
                throw UsageError("these words ask for help")
            }
            #expect(invocation.line(replacing: forms, by: ["--size", "9"]) == ["copy", "a", "b", "--size", "9"])
        }
        // What follows two dashes is no option.
        let dashes = try invocation("copy", "--size", "7", "--", "--size", "b")
        #expect(dashes.line(replacing: forms, by: ["--size", "9"]) == ["copy", "--size", "9", "--", "--size", "b"])
    }

    @Test func valuesStandBehindASignOrASpace() throws {
        #expect(try invocation("copy", "--size=7", "a", "b")[Self.size] == 7)
        #expect(try invocation("copy", "--size", "7", "a", "b")[Self.size] == 7)
        #expect(try invocation("copy", "a", "b", "--size", "7")[Self.size] == 7)
        #expect(try invocation("copy", "-s7", "a", "b")[Self.size] == 7)
        #expect(try invocation("copy", "-s", "7", "a", "b")[Self.size] == 7)
        #expect(try invocation("copy", "a", "b")[Self.size] == nil)
    }

    @Test func valueMayHoldSignsAndBeEmpty() throws {
        let wishes = try invocation("copy", "--tag=a=b=c", "--tag", "x=", "a", "b").all(Self.tag)
        #expect(try wishes == [TagWish(name: "a", value: "b=c"), TagWish(name: "x", value: "")])
        #expect(refusal("copy", "--size=", "a", "b")?.message == "--size \"\": must be a whole number from 1 to 100")
    }

    @Test func lettersStandTogether() throws {
        let both = try invocation("copy", "-qr", "a", "b")
        #expect(both[Self.quiet] && both[Self.recursive])
        let three = try invocation("copy", "-qrs12", "a", "b")
        #expect(three[Self.quiet] && three[Self.recursive] && three[Self.size] == 12)
        #expect(try invocation("copy", "-qs", "12", "a", "b")[Self.size] == 12)
        #expect(refusal("copy", "-qx", "a", "b")?.message == "unknown option -x")
    }

    @Test func nothingBehindTwoDashesIsAnOption() throws {
        let words = try invocation("copy", "--", "--size", "-q", "--")
        #expect(words.words(Self.files) == ["--size", "-q"])
        #expect(words.words(Self.target) == ["--"])
        #expect(!words[Self.quiet])
    }

    @Test func singleDashIsAnArgument() throws {
        #expect(try invocation("copy", "-", "b").words(Self.files) == ["-"])
    }

    @Test func generalOptionsStandAnywhere() throws {
        #expect(try invocation("-q", "copy", "a", "b")[Self.quiet])
        #expect(try invocation("copy", "a", "--quiet", "b")[Self.quiet])
        #expect(refusal("--size", "3", "copy", "a", "b")?.message == "unknown option --size")
    }

    @Test func missingValueIsNamed() {
        #expect(refusal("copy", "a", "b", "--size")?.message == "-s, --size N: the value is missing")
        #expect(refusal("copy", "--size", "--quiet", "a", "b")?.message == "-s, --size N: the value is missing")
        #expect(refusal("copy", "--tag", "--help")?.message == "--tag NAME=VALUE: the value is missing")
    }

    @Test func switchTakesNoValue() {
        #expect(refusal("copy", "--quiet=yes", "a", "b")?.message == "--quiet takes no value")
    }

    @Test func onlyRepeatableOptionsAreSaidTwice() throws {
        let twice = refusal("copy", "--size", "1", "-s2", "a", "b")
        #expect(twice?.message == "--size is given twice")
        #expect(twice?.hint == "the first value is 1")
        #expect(try invocation("copy", "-q", "--quiet", "a", "b")[Self.quiet])
    }

    // MARK: - Arguments

    @Test func lastWordsGoToTheArgumentsBehind() throws {
        let words = try invocation("copy", "a", "b", "c", "d")
        #expect(words.words(Self.files) == ["a", "b", "c"])
        #expect(words.word(Self.target) == "d")
        #expect(words.path == ["copy"])
    }

    @Test func missingAndSuperfluousArgumentsAreNamed() {
        let missing = refusal("copy", "a")
        #expect(missing?.message == "TARGET is missing")
        #expect(missing?.hint == "usage: tool copy FILE... TARGET")
        #expect(refusal("copy")?.message == "FILE is missing")
        #expect(refusal("queue", "pause", "a", "b")?.message == "unexpected argument \"b\"")
        #expect(refusal("queue", "pause") == nil)
    }

    // MARK: - Nearest match

    @Test func unknownCommandSuggestsTheNearest() {
        #expect(refusal("cpoy")?.message == "unknown command \"cpoy\"; did you mean \"copy\"?")
        #expect(refusal("COPY", "a")?.message == "unknown command \"COPY\"; did you mean \"copy\"?")
        #expect(
            refusal("queue", "puase")?.message == "unknown command \"queue puase\"; did you mean \"queue pause\"?"
        )
        #expect(refusal("xylophone")?.message == "unknown command \"xylophone\"")
        #expect(refusal("xylophone")?.hint == "\"tool --help\" lists the commands")
        #expect(refusal("secrt")?.message == "unknown command \"secrt\"")
    }

    @Test func unknownOptionSuggestsTheNearest() {
        #expect(refusal("copy", "--sizee", "3")?.message == "unknown option --sizee; did you mean --size?")
        #expect(refusal("copy", "--hepl")?.message == "unknown option --hepl; did you mean --help?")
        #expect(refusal("copy", "--zzzzzz")?.hint == "\"tool copy --help\" lists the options")
    }

    @Test func unknownValueSuggestsTheNearest() {
        #expect(
            refusal("copy", "--level", "plian")?.message == "--level plian: is not allowed; did you mean \"plain\"?"
        )
    }

    // MARK: - Environment

    @Test func commandLineGoesBeforeEnvironmentBeforeDefault() throws {
        let environment = ["SLUICE_LEVEL": "json"]
        let said = try invocation("copy", "a", "b", "--level=bar", environment: environment)
        #expect(said[Self.level] == .bar)
        #expect(said.origin(of: Self.level.form) == .commandLine)
        let set = try invocation("copy", "a", "b", environment: environment)
        #expect(set[Self.level] == .json)
        #expect(set.origin(of: Self.level.form) == .environment(variable: "SLUICE_LEVEL"))
        let left = try invocation("copy", "a", "b")
        #expect(left[Self.level] == .auto)
        #expect(left.origin(of: Self.level.form) == .fallback)
        #expect(left.origin(of: Self.size.form) == nil)
    }

    @Test func emptyVariableIsNone() throws {
        #expect(try invocation("copy", "a", "b", environment: ["SLUICE_LEVEL": ""])[Self.level] == .auto)
    }

    @Test func badVariableIsWrongConfiguration() {
        let bad = refusal("copy", "a", "b", environment: ["SLUICE_LEVEL": "loud"])
        #expect(bad?.exitCode == .configuration)
        #expect(bad?.message.hasPrefix("SLUICE_LEVEL=loud in the environment: is not allowed") == true)
        #expect(bad?.hint == "the variable sets --level; unset or correct it")
        // If the command line sets the value, the reader ignores the variable.
        #expect(refusal("copy", "a", "b", "--level", "bar", environment: ["SLUICE_LEVEL": "loud"]) == nil)
        #expect(refusal("cpoy")?.exitCode == .usage)
    }

    // MARK: - Help

    @Test func helpIsOfTheCommandReadSoFar() throws {
        func title(_ request: WordReader.Request) -> [String]? {
            guard case .help(let path) = request else { return nil }
            return path.map(\.name)
        }
        #expect(try title(read()) == ["tool"])
        #expect(try title(read("--help")) == ["tool"])
        #expect(try title(read("copy", "-h")) == ["tool", "copy"])
        #expect(try title(read("copy", "a", "--help", "--nonsense")) == ["tool", "copy"])
        #expect(try title(read("queue")) == ["tool", "queue"])
    }

    @Test func versionIsAskedOfTheRootAlone() throws {
        guard case .version = try read("--version") else { throw UsageError("no version") }
        #expect(refusal("copy", "--version")?.message == "unknown option --version")
    }
}
