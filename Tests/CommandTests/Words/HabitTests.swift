import Testing

@testable import Command
@testable import Console

/// Words from other programs lead to those of Sluice.
struct HabitTests {
    private func error(_ line: String) throws -> UsageError {
        let words = line.split(separator: " ").map(String.init)
        return try #require(throws: UsageError.self) {
            _ = try WordReader(root: Catalogue.root, environment: [:]).read(words)
        }
    }

    @Test(arguments: [
        ("convert -y a.wav b.flac", "--on-conflict WHAT decides"),
        ("convert --force a.wav b.flac", "--on-conflict WHAT decides"),
        ("submit -f a.wav", "--on-conflict WHAT decides"),
        ("convert -i a.wav b.flac", "sources are named without an option"),
        ("convert a.wav -ar 44100 b.flac", "--rate HZ sets"),
        ("convert a.wav -r 44100 b.flac", "--rate HZ sets"),
        ("convert a.wav -ac 2 b.flac", "--channels N sets"),
        ("convert a.wav -b:a 128k b.mp3", ""),
        ("convert a.wav -o b.flac", "the output is the last argument"),
        ("submit a.wav -o b.flac", "--to TEMPLATE names the outputs"),
        ("convert -V", "\"sluice --version\" prints the version"),
        ("probe -v a.wav", "--debug shows"),
        ("jobs --warnings", "--remarks selects"),
    ])
    func optionsOfOtherProgramsAreTranslated(line: String, hint: String) throws {
        if hint.isEmpty {
            // -b is a letter of ours: its value is refused.
            #expect(try error(line).message.hasPrefix("--bit-rate :a"))
        } else {
            let error = try error(line)
            #expect(error.hint?.hasPrefix(hint) == true, "\(error)")
        }
    }

    @Test(arguments: [
        ("version", "unknown command \"version\"; did you mean \"sluice --version\"?"),
        ("batch 17", "unknown command \"batch\"; did you mean \"batches\"?"),
        ("ls", "unknown command \"ls\"; did you mean \"jobs\"?"),
        ("covnert", "unknown command \"covnert\"; did you mean \"convert\"?"),
        ("pri 1", "unknown command \"pri\"; did you mean \"prioritize\"?"),
    ])
    func commandsOfOtherProgramsAreTranslated(line: String, message: String) throws {
        #expect(try error(line).message == message)
    }

    @Test func anOptionThatTheCommandLacksIsNotSuggested() throws {
        #expect(try error("probe -y a.wav").hint?.contains("--on-conflict") != true)
    }
}
