import Ledger
import Testing

@testable import API

/// What pages are told that a caller may ask for is what the API answers.
@Suite struct CallerRightsTests {
    private func rights(_ role: AccessRole, tenant: String? = nil) throws -> CallerRights {
        CallerRights(Caller(name: "a", role: role, tenant: tenant), among: try APIServer.operations(version: "1"))
    }

    @Test func `a role has its operations and no others`() throws {
        for operation in try APIServer.operations(version: "1") {
            for role in AccessRole.allCases {
                let permitted = operation.access == .open || operation.access.roles.contains(role)
                #expect(try rights(role).may(operation.name) == permitted, "\(operation.name) as \(role)")
            }
        }
    }

    @Test func `a tenant has none that tells of the whole installation`() throws {
        let tenant = try rights(.submitter, tenant: "acme")
        for operation in try APIServer.operations(version: "1") where operation.access != .open {
            let permitted = operation.isForTenants && operation.access.roles.contains(.submitter)
            #expect(tenant.may(operation.name) == permitted, "\(operation.name)")
        }
        #expect(!tenant.may("listWorkers") && tenant.may("listJobs") && !tenant.may("noSuchOperation"))
    }

    @Test func `all but operators change only what is their own`() throws {
        let callers = [
            try rights(.submitter), try rights(.submitter, tenant: "acme"), try rights(.operator), try rights(.viewer),
        ]
        let submitters = ["token:a", "tenant:acme", "token:b", nil]
        let permitted = callers.map { caller in submitters.map { caller.may("changeJobs", of: $0) } }
        let wanted = [
            [true, false, false, false], [false, true, false, false], [true, true, true, true],
            [false, false, false, false],
        ]
        #expect(permitted == wanted)
    }
}
