import Conversion
import Testing

@testable import Command
@testable import Console

/// The words that the command offers to shell completion.
struct CompleterTests {
    private func offer(_ words: String...) -> Completer.Offer { Completer(root: Catalogue.root).offer(for: words) }
    private func words(_ offer: Completer.Offer) -> [String] { offer.candidates.map(\.word) }

    @Test func commandsAreOfferedFirst() {
        let all = [
            "convert", "probe", "up", "submit", "status", "watch", "errors", "retry", "doctor", "help", "join", "mix",
            "split", "tags", "waveform", "formats", "presets", "recipe", "wait", "jobs", "job", "batches", "export",
            "report", "check", "scan", "explain", "accept", "cancel", "prioritize", "changes", "worker", "coordinator",
            "workers", "queues", "open", "down", "config", "migrate", "metrics", "logins", "tokens", "tenants",
            "webhooks", "audit", "completion",
        ]
        #expect(words(offer("")) == all)
        #expect(words(offer("pr")) == ["probe", "presets", "prioritize"])
        #expect(words(offer("queues", "")) == ["pause", "resume", "limit", "weight"])
        #expect(words(offer("x")) == [])
        #expect(words(offer()) == words(offer("")))
    }

    @Test func hiddenCommandsAreNot() {
        #expect(words(offer("complete")) == [])
    }

    @Test func optionsAreOfferedBehindADash() {
        for dash in ["-", "--"] {
            let offered = words(offer("convert", dash))
            #expect(offered.contains("--preset") && offered.contains("--color") && offered.contains("--help"))
        }
        #expect(words(offer("convert", "--pr")) == ["--preset", "--progress"])
        #expect(words(offer("--d")) == ["--debug"])
        #expect(offer("convert", "--").files == .none)
    }

    @Test func valuesAreOfferedBehindTheirOption() {
        #expect(words(offer("convert", "--preset", "")) == Preset.all.map(\.name))
        #expect(words(offer("convert", "-p", "mp3")) == ["mp3-v0", "mp3-128"])
        #expect(words(offer("convert", "--on-conflict", "")) == ["fail", "replace", "skip"])
        #expect(words(offer("submit", "--theme", "")) == ["light", "dark", "transparent"])
        #expect(words(offer("waveform", "--frequencies", "")) == ["mel", "linear"])
        #expect(offer("submit", "--waveform", "").files == .files)
        #expect(words(offer("convert", "--rate", "")) == [])
        #expect(offer("convert", "--rate", "").files == .none)
        #expect(offer("presets", "--for", "").files == .files)
    }

    @Test func valuesAreOfferedBehindASign() {
        let offered = offer("convert", "--preset=mp3")
        #expect(words(offered) == ["mp3-v0", "mp3-128"])
        #expect(offered.prefix == "--preset=")
        #expect(offer("presets", "--for=").files == .files)
        #expect(words(offer("convert", "--no-such=")) == [])
    }

    @Test func argumentsAreOfferedByPlace() {
        #expect(offer("convert", "").files == .files)
        #expect(offer("convert", "a.wav", "").files == .files)
        #expect(offer("convert", "a.wav", "b.flac", "").files == .none)
        #expect(offer("convert", "--rate", "48k", "a.wav", "--verify", "").files == .files)
        #expect(offer("probe", "a", "b", "c", "").files == .files)
        #expect(words(offer("help", "pro")) == ["probe"])
        #expect(words(offer("completion", "")) == ["bash", "zsh", "fish"])
        #expect(words(offer("formats", "fla")) == ["flac"])
    }

    @Test func nothingBehindTwoDashesIsAnOption() {
        #expect(offer("convert", "--", "--pre").files == .files)
        #expect(words(offer("convert", "--", "--pre")) == [])
    }
}
