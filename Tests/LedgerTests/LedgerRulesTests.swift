import TestSupport
import Testing

@testable import Ledger

/// The rules of names that the command and the HTTP API check are those of the ledger's tables.
struct LedgerRulesTests {
    private static let rules: [(rule: NameRule, table: String)] = [
        (LedgerRules.queueName, "queue"), (LedgerRules.tenantName, "tenant"), (LedgerRules.tokenName, "token"),
        (LedgerRules.webhookName, "webhook"),
    ]

    @Test func rulesAreThoseOfTheTables() async throws {
        let lab = try await LedgerLab()
        for (rule, table) in Self.rules {
            let checks: String = try await lab.value(
                """
                select string_agg(pg_get_constraintdef(c.oid), ' ') from pg_constraint c
                where c.contype = 'c' and c.conrelid = to_regclass(\("\(lab.schema).\(table)"))
                """
            )
            #expect(checks.contains("name ~ '\(rule.pattern)'"), "\(checks)")
            let long = String(repeating: "a", count: rule.longest)
            for name in [
                "a", "Z9._-", "9", "9a", "a@b", "a+b", "", "a b", ".a", "-a", "ä", "aä", "a\n", long, long + "a",
            ] {
                let isMatch: Bool = try await lab.value("select \(name) ~ \(rule.pattern)")
                let isNumber = table == "token" && name == "9"
                #expect(rule.permits(name) == (isMatch && !isNumber), "\(table) \(name)")
            }
        }
    }
}
