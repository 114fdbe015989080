import TestSupport
import Testing

/// docs/settings.md lists the settings of the ledger and of the services. SLUICE_REWRITE_DOCS=1 rewrites the lists.
struct SettingsPageTests {
    @Test func everyKeyOfTheLedgerIsListed() throws {
        let difference = try GeneratedPage.difference(
            of: "settings.md",
            from: SettingsPage.keys(),
            between: "<!-- keys: "
        )
        #expect(difference == nil)
    }

    @Test func everyKeyOfTheFileIsListed() throws {
        let difference = try GeneratedPage.difference(
            of: "settings.md",
            from: SettingsPage.options(),
            between: "<!-- options: "
        )
        #expect(difference == nil)
    }
}
