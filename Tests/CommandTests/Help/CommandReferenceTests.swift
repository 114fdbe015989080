import TestSupport
import Testing

/// docs/command-reference.md lists what the catalogue says. SLUICE_REWRITE_DOCS=1 rewrites the list.
struct CommandReferenceTests {
    @Test func thePageListsEveryCommand() throws {
        let difference = try GeneratedPage.difference(
            of: "command-reference.md",
            from: CommandReference.commands(),
            between: "<!-- commands: "
        )
        #expect(difference == nil)
    }
}
