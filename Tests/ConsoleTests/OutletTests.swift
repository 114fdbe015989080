import Testing

@testable import Console

/// When output uses colour and Unicode if the stream is not a terminal.
struct OutletTests {
    private func outlet(_ choice: Outlet.ColourChoice = .auto, _ environment: [String: String] = [:]) -> Outlet {
        // Descriptor -1 is never open, so it is no terminal.
        Outlet(descriptor: -1, colour: choice, environment: environment)
    }

    @Test func colourFollowsOptionThenVariables() {
        #expect(!outlet().usesColour)
        #expect(outlet(.always).usesColour)
        #expect(outlet(.auto, ["FORCE_COLOR": "1"]).usesColour)
        #expect(!outlet(.auto, ["FORCE_COLOR": ""]).usesColour)
        #expect(!outlet(.auto, ["FORCE_COLOR": "1", "NO_COLOR": "1"]).usesColour)
        #expect(outlet(.always, ["NO_COLOR": "1"]).usesColour)
        #expect(!outlet(.never, ["FORCE_COLOR": "1"]).usesColour)
        #expect(outlet(.always).paint("x", .bad) == "\u{1B}[31mx\u{1B}[0m")
        #expect(outlet(.never).paint("x", .bad) == "x")
    }

    @Test func colourIsKnownBeforeTheWordsAreRead() {
        #expect(Outlet.ColourChoice(in: ["convert", "--color", "never"]) == .never)
        #expect(Outlet.ColourChoice(in: ["--color=always", nil, "x"]) == .always)
        #expect(Outlet.ColourChoice(in: ["--color"]) == .auto)
        #expect(Outlet.ColourChoice(in: ["--color=pink"]) == .auto)
        #expect(Outlet.ColourChoice(in: []) == .auto)
    }

    @Test func unicodeFollowsTheLocale() {
        #expect(!outlet().usesUnicode)
        #expect(outlet(.auto, ["LANG": "en_US.UTF-8"]).usesUnicode)
        #expect(outlet(.auto, ["LC_CTYPE": "de_DE.utf8"]).usesUnicode)
        #expect(!outlet(.auto, ["LC_ALL": "C", "LANG": "en_US.UTF-8"]).usesUnicode)
        #expect(outlet(.auto, ["LC_ALL": "", "LANG": "en_US.UTF-8"]).usesUnicode)
    }

    @Test func widthIsThatOfColumnsOrEighty() {
        #expect(outlet().width == 80)
        #expect(outlet(.auto, ["COLUMNS": "120"]).width == 120)
        for nonsense in ["", "0", "-5", "wide"] { #expect(outlet(.auto, ["COLUMNS": nonsense]).width == 80) }
    }
}
