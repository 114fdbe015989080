import FoundationEssentials

extension JobLedger {
    // MARK: - For people

    /// Creates a webhook.
    ///
    /// Throws `refused` for text that is not an address and a name that is in use, and `permissionDenied` for the batches of
    /// others.
    public func createWebhook(_ wanted: NewWebhook) async throws -> CreatedWebhook {
        let secret = WebhookSecret()
        // An empty text means the caller.
        let (submitter, queue, batch): (String?, String?, Int64?) =
            switch wanted.scope {
            case .all: (nil, nil, nil)
            case .submitter(let name): (name ?? "", nil, nil)
            case .queue(let name): (nil, name, nil)
            case .batch(let id): (nil, nil, id)
            }
        let percent = Int32(clamping: wanted.failurePercent)
        // A repeated call finds the webhook that an earlier try has created.
        let id: Int32 = try await settle("create a webhook") { connection, _ in
            try connection.value(
                """
                select \(schema).create_webhook(
                    \(wanted.url), \(Data(secret.bytes)), \(wanted.events?.map(\.rawValue)), \(submitter), \(batch),
                    \(percent), \(queue), \(wanted.name), \(wanted.onNotify))
                """
            )
        }
        return CreatedWebhook(id: id, secret: secret)
    }

    /// The webhooks that the caller may see, and those that its submissions may name, by id.
    public func webhooks() async throws -> [Webhook] {
        try await look("list webhooks") { connection in
            try connection.rows("select * from \(schema).list_webhooks()", Webhook.init(reading:))
        }
    }

    /// Removes a webhook with its deliveries. Where there are many, housekeeping deletes them. Throws `refused` if there
    /// is no such webhook.
    public func removeWebhook(_ id: Int32) async throws {
        try await settle("remove a webhook") { connection, mayHaveHappened in
            do {
                _ = try connection.execute("select \(schema).remove_webhook(\(id))")
            } catch let error as LedgerError where mayHaveHappened && error.sqlState == "P0002" {
                // An earlier try has removed it.
            }
        }
    }

    /// Has a test event sent to a webhook. Returns its delivery.
    public func testWebhook(_ id: Int32) async throws -> Int64 {
        let test = UUID()
        return try await settle("test a webhook") { connection, _ in
            try connection.value("select \(schema).test_webhook(\(id), \(test))")
        }
    }

    /// Deliveries, newest first: of one webhook, in one state, and older than the delivery `before`.
    public func deliveries(
        to webhook: Int32? = nil,
        in state: WebhookDelivery.State? = nil,
        before: Int64? = nil,
        limit: Int32 = 50
    ) async throws -> [WebhookDelivery] {
        try await look("list deliveries") { connection in
            try connection.rows(
                "select * from \(schema).list_deliveries(\(webhook), \(state?.rawValue), \(before), \(limit))",
                WebhookDelivery.init(reading:)
            )
        }
    }

    /// Has dead deliveries of a webhook sent again, all or one. Returns how many. Each page has its own transaction, so
    /// that coordinators and housekeeping do not wait.
    ///
    /// Calls `progress` with the count after each page. Pages done before an error stay.
    @discardableResult
    public func retryDeliveries(
        to webhook: Int32,
        _ delivery: Int64? = nil,
        page: Int32 = 1_000,
        progress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> Int {
        var (count, after): (Int, Int64?) = (0, 0)
        while let last = after {
            let part = try await retryPart(ofDeliveriesTo: webhook, delivery, after: last, page: page)
            count += part.count
            after = part.next
            progress?(count)
        }
        return count
    }

    /// Has a page of the dead deliveries behind `after` sent again. `next` is where the following page begins; `nil` if
    /// this was the last.
    public func retryPart(
        ofDeliveriesTo webhook: Int32,
        _ delivery: Int64?,
        after: Int64,
        page: Int32
    ) async throws -> (count: Int, next: Int64?) {
        let done = try await settle("retry deliveries") { connection, _ in
            try connection.first(
                "select * from \(schema).retry_deliveries(\(webhook), \(delivery), \(after), \(page))"
            ) { (count: try $0["changed"] as Int, next: try $0["reached"] as Int64?) }
        }
        return done ?? (0, nil)
    }

    // MARK: - For coordinators

    /// Takes deliveries that are due: up to `healthy` to webhooks that took the last request, and up to `failing` to
    /// others. The caller must record each result within `lease`, or another coordinator takes the delivery.
    public func takeDeliveries(
        healthy: Int,
        failing: Int,
        lease: Duration,
        within limit: Duration? = nil
    ) async throws -> [TakenDelivery] {
        // If the answer is lost, they are due again after the lease.
        try await settle("take deliveries of webhooks", within: limit) { connection, _ in
            try connection.rows(
                """
                select * from \(schema).take_deliveries(\(Int32(clamping: healthy)), \(Int32(clamping: failing)), \(lease))
                """,
                TakenDelivery.init
            )
        }
    }

    /// Whether there is a webhook to send anything to. `WorkSignals` tells of the next one.
    public func hasWebhooks(within limit: Duration? = nil) async throws -> Bool {
        try await settle("take deliveries of webhooks", within: limit) { connection, _ in
            try connection.value("select \(schema).has_webhooks()")
        }
    }

    /// Records the result of an attempt: the status of the answer, or why there is none. Returns the state of the
    /// delivery since then; `nil` if another has taken or ended it meanwhile.
    @discardableResult
    public func record(_ delivery: TakenDelivery, status: Int?, error: String?) async throws -> WebhookDelivery.State? {
        let status = status.map { Int32(clamping: $0) }
        return try await settle("record a delivery") { connection, _ in
            try connection.rows(
                "select \(schema).record_delivery(\(delivery.id), \(delivery.lease), \(status), \(error))"
            ) { row in (try row[0] as String?).flatMap(WebhookDelivery.State.init) }[0]
        }
    }
}
