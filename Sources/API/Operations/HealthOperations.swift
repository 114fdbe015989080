import Conversion
import HTTPServer
import Ledger

/// What a service manager, a proxy and programs without a token may ask.
enum HealthOperations {
    private static let health = Schema.named(
        "Health",
        .object([
            .must("isWell", .truth, "whether it can serve"), .may("reasons", .list(.text()), "what is not well"),
        ])
    )

    private struct Health: Encodable {
        let isWell: Bool
        var reasons: [String]?
    }

    static let alive = Operation(
        name: "isAlive",
        method: .get,
        path: "/healthz",
        summary: "whether this process serves requests",
        access: .open,
        answer: health
    ) { _ in try .json(Health(isWell: true)) }

    static func ready() -> Operation {
        let look = SharedLook()
        return Operation(
            name: "isReady",
            method: .get,
            path: "/readyz",
            summary: "whether the ledger answers; 503 and the reasons if not",
            access: .open,
            answer: health
        ) { call in
            do {
                try await look.run(call.ledger)
                return try .json(Health(isWell: true))
            } catch let error as LedgerError {
                return try .json(Health(isWell: false, reasons: [error.code.rawValue]), .serviceUnavailable)
            }
        }
    }

    /// Asks the ledger once for all requests that come meanwhile. Such requests need no token, so many of them must not take
    /// the connections with which tokens are looked up.
    private actor SharedLook {
        private var underWay: Task<Void, any Error>?

        func run(_ ledger: JobLedger) async throws {
            if let underWay { return try await underWay.value }
            let look = Task { _ = try await ledger.time() }
            underWay = look
            defer { underWay = nil }
            try await look.value
        }
    }

    /// `text` is the description, made once.
    static func description(_ text: @escaping @Sendable () -> String) -> Operation {
        Operation(
            name: "getDescription",
            method: .get,
            path: "/openapi.json",
            summary: "this description",
            access: .open,
            answer: .anything
        ) { _ in .text(text(), as: "application/json") }
    }
}
