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

    @Test func `an owner has what either role has`() throws {
        let operations = try APIServer.operations(version: "1")
        func caller(_ role: AccessRole) -> Caller { Caller(name: "a", role: role, tenant: nil) }
        let owner = CallerRights(caller(.operator), and: caller(.submitter), among: operations)
        #expect(owner.isOwner && owner.may("submitBatch") && owner.may("changeQueue"))
        // Also what commands have submitted.
        #expect(owner.may("changeJobs", of: "token:b") && owner.may("changeJobs", of: nil))
        for operation in operations {
            let either = try rights(.operator).may(operation.name) || rights(.submitter).may(operation.name)
            #expect(owner.may(operation.name) == either, "\(operation.name)")
        }
        #expect(try !rights(.operator).isOwner && !rights(.operator).may("submitBatch"))
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
