import Foundation
import TestSupport
import Testing

@testable import Command
@testable import Console

/// The manual pages of all commands, as groff renders them.
struct ManualPageTests {
    private static let visible = CatalogueTests.paths.filter { !$0.last!.isHidden }

    @Test func groffHasNothingToRemark() throws {
        for path in Self.visible {
            let page = ManualPage(path: path, version: Version.number).roff
            let run = try Run.program("groff", ["-man", "-Tutf8", "-ww", "-z"], input: .data(Data(page.utf8)))
            #expect(run.succeeded && run.errorText.isEmpty, "\(path.last!.name): \(run.errorText)")
        }
    }

    @Test func everyOptionAndExampleIsPrinted() throws {
        for path in Self.visible {
            let page = ManualPage(path: path, version: Version.number).roff
            let run = try Run.program(
                "groff",
                ["-man", "-Tascii", "-P-cbou", "-rLL=200n"],
                input: .data(Data(page.utf8)),
                environment: Sluice.environment()
            )
            let text = try run.checked().outputText
            for option in path.allOptions { #expect(text.contains(option.usage), "\(option.word)") }
            for example in path.last!.examples { #expect(text.contains(example.line), "\(example.line)") }
            for code in ExitCode.allCases { #expect(text.contains(code.meaning), "\(code)") }
        }
    }

    @Test func textThatLooksLikeARequestIsPrinted() throws {
        let odd = Subcommand(
            name: "odd",
            summary: ".SH is no heading here",
            discussion: ["'quoted' \\fBnot bold\\fR --and-dashes", ".PP"],
            arguments: [Argument(name: "FILE", summary: ".x")]
        )
        let page = ManualPage(path: [odd], version: Version.number).roff
        let run = try Run.program("groff", ["-man", "-Tascii", "-P-cbou", "-ww"], input: .data(Data(page.utf8)))
        #expect(run.errorText.isEmpty)
        for text in [".SH is no heading here", "'quoted' \\fBnot bold\\fR --and-dashes", ".PP", ".x"] {
            #expect(run.outputText.contains(text), "\(text)")
        }
    }
}
