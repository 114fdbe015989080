import Foundation
import TestSupport
import Testing

/// Untrusted text in tags and file names is printed as text and nothing else.
@Suite struct UntrustedTextTests {
    private let material: Material

    init() throws { material = try Material() }

    /// Colours, a window title, the 8-bit form of an escape, a changed text direction, line breaks, a bell, a
    /// delete character.
    private static let poison = [
        "\u{1B}[31mred", "\u{1B}]0;owned\u{7}", "\u{9B}31mred", "\u{9D}0;owned\u{9C}", "a\u{202E}3pm.exe",
        "\u{2066}x\u{2069}",
        "one\nerror: two", "one\r\u{1B}[2K", "del\u{7F}", "next\u{85}line", "\u{2028}line", "\u{90}q\u{9C}",
    ]

    /// Whether `text` contains no control or direction characters except the line breaks that the program writes.
    private func isClean(_ text: String) -> Bool {
        !text.unicodeScalars.contains { scalar in
            switch scalar.value {
            case 0x0A: false
            case ..<0x20, 0x7F...0x9F, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069, 0x061C: true
            default: false
            }
        }
    }

    @Test(arguments: poison) func tagsAreTextInEveryOutput(text: String) throws {
        let names = ["title", "artist", "comment"]
        let tags = names.flatMap { ["--tag", "\($0)=\(text)"] }
        #expect(try Sluice.run(["convert", "talk.wav", "evil.flac"] + tags, in: material.folder).succeeded)
        for words in [
            ["probe", "evil.flac"], ["probe", "--json", "evil.flac"], ["presets", "--for", "evil.flac"],
            ["convert", "evil.flac", "out.wav"], ["convert", "evil.flac", "json.wav", "--json"],
            ["tags", "evil.flac"], ["tags", "--json", "evil.flac"],
            ["tags", "--set", "artist=\(text)", "--set", "artist=x", "evil.flac"],
        ] {
            let run = try Sluice.run(words, in: material.folder)
            #expect(run.succeeded, "\(words): \(run.errorText)")
            #expect(isClean(run.outputText), "\(words): \(run.outputText.debugDescription)")
            #expect(isClean(run.errorText), "\(words): \(run.errorText.debugDescription)")
            // None of the texts starts a line of its own.
            #expect(!run.outputText.split(separator: "\n").contains { $0.hasPrefix("error: two") })
        }
        // The text is not lost either: a program reads it unchanged.
        let json = try Sluice.run("probe", "--json", "evil.flac", in: material.folder)
        #expect(json.outputText.split(separator: "\n").count == 1)
        let record = try #require(try JSONSerialization.jsonObject(with: json.stdout) as? [String: Any])
        let description = try #require(record["description"] as? [String: Any])
        let values = try #require(description["tags"] as? [[String: Any]]).compactMap { $0["value"] as? String }
        #expect(values.contains(text))
    }

    @Test(arguments: poison) func namesOfFilesAreTextInEveryOutput(text: String) throws {
        let (good, bad) = ("\(text).wav", "bad-\(text).mp3")
        try FileManager.default.copyItem(atPath: material.path("talk.wav"), toPath: material.path(good))
        try Bytes.write(Array("no sound".utf8), to: material.path(bad))
        for words in [
            ["probe", "--", good], ["probe", "--json", "--", good], ["probe", "--", bad],
            ["probe", "--json", "--", bad],
            ["convert", "--", good, "out-\(good)"], ["convert", "--json", "--", good, "json-\(good)"],
            ["convert", "--", bad, "out.wav"], ["convert", "--json", "--", bad, "out.wav"],
            ["convert", "--debug", "--", bad, "out.wav"], ["presets", "--for", bad],
            ["convert", "--", "gone-\(good)", "x.wav"], ["tags", "--", good, bad],
            ["tags", "--set", "title=x", "--", good, bad], ["tags", "--set", "title=y", "--json", "--", good, bad],
        ] {
            let run = try Sluice.run(words, in: material.folder)
            #expect(isClean(run.outputText), "\(words): \(run.outputText.debugDescription)")
            #expect(isClean(run.errorText), "\(words): \(run.errorText.debugDescription)")
        }
    }
}
