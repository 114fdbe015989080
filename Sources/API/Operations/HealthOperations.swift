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

    static let ready = Operation(
        name: "isReady",
        method: .get,
        path: "/readyz",
        summary: "whether the ledger answers; 503 and the reasons if not",
        access: .open,
        answer: health
    ) { call in
        do {
            _ = try await call.ledger.time()
            return try .json(Health(isWell: true))
        } catch let error as LedgerError {
            return try .json(Health(isWell: false, reasons: [error.code.rawValue]), .serviceUnavailable)
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
