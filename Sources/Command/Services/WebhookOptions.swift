import Console
import Coordinator
import Ledger

/// The options of a coordinator about webhooks.
enum WebhookOptions {
    static let alsoTo = Option<WebhookSender.Block>(
        "webhooks-to",
        .block,
        "also send webhooks to these addresses of a private network",
        isRepeatable: true,
        in: .work
    )

    static func sender(
        _ invocation: Invocation,
        _ onEvent: @escaping @Sendable (CoordinatorEvent) -> Void
    ) throws -> WebhookSender {
        try WebhookSender(LedgerOptions.configuration(invocation), alsoTo: invocation.all(alsoTo), onEvent: onEvent)
    }
}

extension ValueType where Value == WebhookSender.Block {
    /// An address, or a block of them.
    static let block = ValueType(placeholder: "CIDR") { text throws(Misfit) in
        guard let block = WebhookSender.Block(text) else {
            throw Misfit(why: "must be an address or a range of addresses, as in 10.0.0.0/8 or fd00::/8")
        }
        return block
    }
}
