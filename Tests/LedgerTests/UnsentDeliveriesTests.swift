import Foundation
import TestSupport
import Testing

@testable import Ledger

/// What the ledger tells of webhooks while no coordinator sends their deliveries.
struct UnsentDeliveriesTests {
    private func take(_ lab: LedgerLab, _ places: Int = 10) async throws -> [TakenDelivery] {
        try await lab.ledger.takeDeliveries(healthy: places, failing: places, lease: .seconds(60))
    }

    @Test func deliveriesThatNoCoordinatorSendsAreTold() async throws {
        let lab = try await LedgerLab()
        let hook = try await lab.ledger.createWebhook(NewWebhook(at: "https://example.com/", for: .all)).id
        func unsent() async throws -> UnsentDeliveries? { try await lab.ledger.overview().unsent }
        func gauge() async throws -> Double? { try await lab.ledger.metrics()[.unsentDeliveries] }
        _ = try await take(lab)
        try await lab.age(by: .seconds(600))
        // Nothing waits.
        #expect(try await unsent() == nil)
        #expect(try await gauge() == 0)
        let event = try await lab.ledger.time()
        _ = try await lab.ledger.testWebhook(hook)
        #expect(try await unsent() == nil)
        try await lab.age(by: .seconds(61))
        let found = try #require(try await unsent())
        #expect(found.count == 1 && abs(found.since.timeIntervalSince(event)) < 30)
        #expect(try await gauge() == 1)
        // A coordinator that looks, but has no free place.
        #expect(try await take(lab, 0).isEmpty)
        #expect(try await unsent() == nil)
        try await lab.age(by: .seconds(61))
        #expect(try await unsent() != nil)
        #expect(try await take(lab).count == 1)
        try await lab.age(by: .seconds(30))
        #expect(try await unsent() == nil)
    }
}
