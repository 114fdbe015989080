import Console
import FoundationEssentials
import Ledger

/// `sluice tenants`: lists tenants, and creates them.
enum TenantsCommand {
    private static let name = Argument(name: "NAME", summary: "the tenant's name", completion: .nothing)

    static let value = Subcommand(
        name: "tenants",
        summary: "list tenants, and create them",
        discussion: [
            "A tenant sees and changes only the batches that were submitted with its tokens. "
                + "An installation without tenants does not notice them."
        ],
        options: ListOptions.forms,
        examples: [Example(line: "sluice tenants", purpose: "all tenants")],
        children: [
            Subcommand(
                name: "create",
                summary: "create a tenant",
                arguments: [name],
                examples: [Example(line: "sluice tenants create radio", purpose: "then create tokens for it")],
                run: create
            )
        ],
        standsAlone: true,
        run: list
    )

    @Sendable private static func list(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let (now, tenants) = try LedgerWork.run(invocation) { ledger in
            (try await ledger.time(), try await ledger.tenants())
        }
        if invocation[ListOptions.json] {
            for tenant in tenants { try console.print(JSONText.line(Record(tenant))) }
        } else if invocation[ListOptions.quiet] {
            for tenant in tenants { try console.print(tenant.name.printable) }
        } else if tenants.isEmpty {
            console.say("no tenants; \"sluice tenants create NAME\" creates one")
        } else {
            var table = TextTable([
                .init(title: "TENANT", isElastic: true), .init(title: "TOKENS", isNumber: true),
                .init(title: "CREATED"), .init(title: "CREATED BY", mayGo: true),
            ])
            for tenant in tenants {
                table.add([
                    .init(tenant.name), .init(Figures.grouped(tenant.tokens)),
                    .init(TimeWords.ago(tenant.createdAt, at: now)), .init(tenant.createdBy),
                ])
            }
            try console.print(table.lines(for: console.data).joined(separator: "\n"))
        }
        return .success
    }

    @Sendable private static func create(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let name = invocation.word(name)
        let isNew = try LedgerWork.run(invocation) { try await $0.createTenant(name) }
        guard isNew else { throw Refusal(message: "there is a tenant \"\(name.printable)\" already") }
        console.say("next: sluice tokens create --role submitter --tenant \(ShellWord.quoted(name)) --name NAME")
        return .success
    }

    private struct Record: Encodable {
        let tenant: String
        let createdAt: Date
        let createdBy: String
        let tokens: Int

        init(_ tenant: Tenant) {
            (self.tenant, createdAt) = (tenant.name, tenant.createdAt)
            (createdBy, tokens) = (tenant.createdBy, tenant.tokens)
        }
    }
}
