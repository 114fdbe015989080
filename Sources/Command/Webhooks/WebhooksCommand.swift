import API
import Console
import Conversion
import FoundationEssentials
import Ledger
import LedgerClient
import System

/// `sluice webhooks`: lists webhooks, creates, tests and removes them, and shows what they were sent.
enum WebhooksCommand {
    private static let address = Argument(name: "URL", summary: "where to send events", completion: .nothing)
    private static let which = Argument(
        name: "WEBHOOK",
        summary: "ids of webhooks",
        count: .oneOrMore,
        completion: .ledger(.webhooks)
    )
    private static let one = Argument(name: "WEBHOOK", summary: "the id of a webhook", completion: .ledger(.webhooks))
    private static let event = Option<Webhook.Event>(
        "event",
        .choice("EVENT") { event in
            switch event {
            case .batchEnded: "all jobs of a batch have ended"
            case .failuresHigh: "too many jobs fail"
            case .workerLost: "a worker sent no heartbeat"
            case .ledgerRecovered: "the ledger works again"
            }
        },
        "only this event; without it, all",
        isRepeatable: true,
        in: .work
    )
    private static let batch = Option<BatchName>("batch", .batch, "only for this batch", in: .work)
    private static let own = Switch("own", "only for the batches that you submit", in: .work)
    private static let tenant = Option<String>(
        "tenant",
        .tenantName,
        "only for the batches of this tenant",
        in: .work
    )
    private static let queue = Option<String>(
        "queue",
        .queueName,
        "only for the batches in this queue",
        in: .work
    )
    private static let name = Option<String>(
        "name",
        .name(LedgerRules.webhookName, of: "webhook"),
        "a name for \"sluice submit --notify NAME\"",
        in: .work
    )
    private static let onNotify = Switch(
        "on-notify",
        "only for batches that are submitted with --notify",
        in: .work
    )
    private static let failures = Option<Int>(
        "failures",
        .whole(in: LedgerRules.failurePercents),
        "from which percentage of failed jobs to send failures.high (default: 10)",
        in: .work
    )
    private static let to = Option<Int64>("webhook", .id, "only deliveries to this webhook", in: .jobs)
    private static let dead = Switch("dead", "only those that were given up", in: .jobs)
    private static let waiting = Switch("waiting", "only those that are still to be sent", in: .jobs)
    private static let limit = SettledOption<Int>(
        "limit",
        .whole(in: 1...10_000),
        fallback: "50",
        "list at most N deliveries",
        in: .output
    )
    private static let before = Option<Int64>("before", .id, "list deliveries older than this one", in: .output)
    private static let delivery = Option<Int64>("delivery", .id, "only this delivery", in: .jobs)

    static let value: Subcommand = Subcommand(
        name: "webhooks",
        summary: "list webhooks; create, test and remove them",
        discussion: [
            "A webhook is a URL to which a coordinator sends a signed request when something happens: a batch has "
                + "ended, many jobs fail, a worker is lost, the ledger works again. docs/webhooks.md shows how to "
                + "check the signature."
        ],
        options: ListOptions.forms,
        examples: [Example(line: "sluice webhooks", purpose: "all webhooks that you may see")],
        children: [creating, testing, deliveries, retrying, removing],
        standsAlone: true,
        run: list
    )

    private static let creating: Subcommand = Subcommand(
        name: "create",
        summary: "create a webhook and print its secret, once",
        discussion: [
            "Operators create webhooks for everything, submitters with --own or --batch. With one of --own, --tenant, "
                + "--queue, --batch and --on-notify, a webhook has the events batch.ended and failures.high."
        ],
        arguments: [address],
        options: [
            name.form, onNotify.form, event.form, batch.form, own.form, tenant.form, queue.form, failures.form,
        ],
        leavesOut: [ListOptions.quiet.form],
        examples: [
            Example(
                line: "sluice webhooks create https://example.com/sluice",
                purpose: "all events"
            ),
            Example(
                line: "sluice webhooks create https://example.com/done --batch last",
                purpose: "the end of a batch"
            ),
            Example(
                line: "sluice webhooks create https://example.com/a --name studio --on-notify",
                purpose: "for \"sluice submit --notify studio\""
            ),
        ],
        run: create
    )
    private static let testing: Subcommand = Subcommand(
        name: "test",
        summary: "send a test event, and say whether it was taken",
        arguments: [one],
        leavesOut: [ListOptions.json.form, ListOptions.quiet.form],
        examples: [Example(line: "sluice webhooks test 3", purpose: "waits for the answer, 30 s at most")],
        run: test
    )
    private static let deliveries: Subcommand = Subcommand(
        name: "deliveries",
        summary: "list what was sent, newest first",
        options: [to.form, dead.form, waiting.form, limit.form, before.form],
        examples: [
            Example(line: "sluice webhooks deliveries --dead", purpose: "what could not be delivered"),
            Example(line: "sluice webhooks deliveries --webhook 3 --json", purpose: "for programs"),
        ],
        run: listDeliveries
    )
    private static let retrying: Subcommand = Subcommand(
        name: "retry",
        summary: "send dead deliveries of a webhook again",
        arguments: [one],
        options: [delivery.form],
        leavesOut: [ListOptions.json.form, ListOptions.quiet.form],
        examples: [Example(line: "sluice webhooks retry 3", purpose: "after the receiver was repaired")],
        run: retry
    )
    private static let removing: Subcommand = Subcommand(
        name: "remove",
        summary: "remove webhooks with their deliveries",
        arguments: [which],
        leavesOut: [ListOptions.json.form, ListOptions.quiet.form],
        examples: [Example(line: "sluice webhooks remove 3", purpose: "nothing more is sent to it")],
        run: remove
    )

    // MARK: - Webhooks

    @Sendable private static func list(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let (now, webhooks) = try LedgerWork.run(invocation) { ledger in
            (try await ledger.time(), try await ledger.webhooks())
        }
        try Listing(invocation, console).print(
            webhooks,
            ids: { "\($0.id)" },
            empty: "no webhooks; \"sluice webhooks create URL\" creates one"
        ) { table(webhooks, now).lines(for: console.data) }
        return .success
    }

    private static func table(_ webhooks: [Webhook], _ now: Date) -> TextTable {
        var table = TextTable([
            .init(title: "ID", isNumber: true), .init(title: "NAME", mayGo: true),
            .init(title: "URL", isElastic: true), .init(title: "FOR"),
            .init(title: "EVENTS", mayGo: true), .init(title: "WAITING", isNumber: true),
            .init(title: "DEAD", isNumber: true), .init(title: "DELIVERED"), .init(title: "CREATED BY", mayGo: true),
        ])
        for webhook in webhooks {
            let most = 10_000
            func count(_ number: Int) -> String { Figures.grouped(number) + (number == most ? "+" : "") }
            table.add([
                .init("\(webhook.id)"), .init(webhook.name?.printable ?? "-"), .init(webhook.url.printable),
                .init(scope(webhook).printable),
                .init(webhook.events.map(\.rawValue).joined(separator: " ")),
                .init(count(webhook.waiting), webhook.failures > 0 ? .careful : nil),
                .init(count(webhook.dead), webhook.dead > 0 ? .bad : nil),
                .init(webhook.deliveredAt.map { TimeWords.ago($0, at: now) } ?? "never"),
                .init(webhook.createdBy.printable),
            ])
        }
        return table
    }

    private static func scope(_ webhook: Webhook) -> String {
        let scope =
            webhook.batch.map { "batch \($0)" } ?? webhook.queue.map { "queue \($0)" } ?? webhook.submitter
        guard webhook.onNotify else { return scope ?? "all" }
        return (scope.map { $0 + " " } ?? "") + "--notify"
    }

    @Sendable private static func create(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let given = { (forms: [OptionForm]) in forms.filter { invocation.origin(of: $0) != nil } }
        let scopes = given([batch.form, own.form, tenant.form, queue.form])
        guard scopes.count < 2 else {
            throw UsageError("\(scopes[0].word) and \(scopes[1].word) cannot be combined")
        }
        if invocation[onNotify], let scope = given([batch.form, queue.form]).first {
            throw UsageError("\(scope.word) and \(onNotify.form.word) cannot be combined")
        }
        if invocation[name] != nil, invocation[batch] != nil {
            throw UsageError("\(name.form.word) and \(batch.form.word) cannot be combined")
        }
        let (url, events) = (invocation.word(address), invocation.all(event))
        let made = try LedgerWork.run(invocation) { ledger in
            var scope = Webhook.Scope.all
            if invocation[own] { scope = .submitter(nil) }
            if let tenant = invocation[tenant] { scope = .submitter("tenant:" + tenant) }
            if let queue = invocation[queue] { scope = .queue(queue) }
            if let name = invocation[batch] { scope = .batch(try await name.id(on: ledger)) }
            var wanted = NewWebhook(
                at: url,
                for: scope,
                events: events.isEmpty ? nil : events,
                named: invocation[name],
                onNotify: invocation[onNotify]
            )
            if let percent = invocation[failures] { wanted.failurePercent = percent }
            return try await ledger.createWebhook(wanted)
        }
        let isJSON = invocation[ListOptions.json]
        do {
            try console.print(isJSON ? JSONText.line(JSONRecord(made)) : made.secret.text.printable)
        } catch {
            // Without the secret, no receiver can verify what the webhook sends.
            try removeUnread(made.id, invocation, console, because: error)
        }
        if !isJSON {
            console.say("webhook \(made.id): this is the only time that its secret is shown")
        }
        return .success
    }

    /// Removes a webhook whose secret could not be printed. Always throws the reason of that.
    private static func removeUnread(
        _ id: Int32,
        _ invocation: Invocation,
        _ console: CommandOutput,
        because failure: any Error
    ) throws -> Never {
        do {
            try LedgerWork.run(invocation) { ledger in try await ledger.removeWebhook(id) }
        } catch {
            console.warn(
                "webhook \(id) was created, but its secret was not printed, and it could not be removed; "
                    + "remove it with \"sluice webhooks remove \(id)\""
            )
            throw failure
        }
        console.warn("the secret of webhook \(id) could not be printed, so the webhook was removed")
        throw failure
    }

    @Sendable private static func remove(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let ids = try invocation.ids(which)
        try LedgerWork.run(invocation) { ledger in
            let known = Set(try await ledger.webhooks().map { Int64($0.id) })
            // All are looked up first, so that a mistyped one changes nothing.
            if let id = ids.first(where: { !known.contains($0) }) { throw Refusal.missing("webhook \(id)") }
            for id in ids { try await ledger.removeWebhook(Int32(id)) }
        }
        return .success
    }

    @Sendable private static func test(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let id = try webhook(invocation)
        let outcome = try LedgerWork.run(invocation) { ledger -> WebhookDelivery? in
            try await check(id, on: ledger)
            let sent = try await ledger.testWebhook(id)
            let end = ContinuousClock.now + .seconds(30)
            while ContinuousClock.now < end {
                let found = try await ledger.deliveries(to: id, in: nil, before: sent + 1, limit: 1).first
                if let found, found.id == sent, found.state == .delivered || found.error != nil { return found }
                // The ledger sends no notification when a delivery ends.
                try await Task.sleep(for: .milliseconds(200))
            }
            return nil
        }
        guard let outcome else {
            throw Refusal(
                message: "no coordinator has sent the test in 30 s",
                hint: "is \"sluice coordinator\" running, as the owner or with the role sluice_face?",
                exitCode: .waitTimeout
            )
        }
        guard outcome.state == .delivered else {
            throw Refusal(message: "not taken: \(outcome.error?.printable ?? "unknown")")
        }
        console.say("taken, with the status \(outcome.status ?? 0)")
        return .success
    }

    private static func webhook(_ invocation: Invocation) throws -> Int32 {
        guard let id = Int32(exactly: try invocation.ids(one)[0]) else {
            throw Refusal.missing("webhook \(invocation.word(one))")
        }
        return id
    }

    private static func check(_ id: Int32, on ledger: any CommandLedger) async throws {
        guard try await ledger.webhooks().contains(where: { $0.id == id }) else {
            throw Refusal.missing("webhook \(id)")
        }
    }

    // MARK: - Deliveries

    @Sendable private static func listDeliveries(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode
    {
        guard !invocation[dead] || !invocation[waiting] else {
            throw UsageError("--dead and --waiting cannot be combined")
        }
        let state: WebhookDelivery.State? = invocation[dead] ? .dead : invocation[waiting] ? .waiting : nil
        let limit = invocation[limit]
        let (now, page) = try LedgerWork.run(invocation) { ledger in
            let id = invocation[to].map { Int32(clamping: $0) }
            if let id { try await check(id, on: ledger) }
            // One more than the limit shows whether there are others.
            return (
                try await ledger.time(),
                try await ledger.deliveries(
                    to: id,
                    in: state,
                    before: invocation[before],
                    limit: Int32(limit + 1)
                )
            )
        }
        let found = page.prefix(limit)
        let listing = Listing(invocation, console)
        try listing.print(found, ids: { "\($0.id)" }, empty: "no deliveries") {
            table(Array(found), now).lines(for: console.data)
        }
        if page.count > limit, let last = found.last {
            listing.sayMore("sluice webhooks deliveries --before \(last.id)")
        }
        return .success
    }

    private static func table(_ deliveries: [WebhookDelivery], _ now: Date) -> TextTable {
        var table = TextTable([
            .init(title: "ID", isNumber: true), .init(title: "WEBHOOK", isNumber: true), .init(title: "EVENT"),
            .init(title: "STATE"), .init(title: "CREATED"), .init(title: "ATTEMPTS", isNumber: true),
            .init(title: "NEXT", mayGo: true), .init(title: "PROBLEM", isElastic: true),
        ])
        for delivery in deliveries {
            let ink: Ink? =
                switch delivery.state {
                case .dead: .bad
                case .waiting where delivery.error != nil: .careful
                default: nil
                }
            table.add([
                .init("\(delivery.id)"), .init("\(delivery.webhook)"), .init(delivery.event.printable),
                .init(delivery.state.rawValue, ink), .init(TimeWords.ago(delivery.createdAt, at: now)),
                .init("\(delivery.attempts)"),
                .init(delivery.dueAt.map { $0 > now ? TimeWords.ahead($0, at: now) : "now" } ?? "-"),
                .init(delivery.error?.printable ?? "-"),
            ])
        }
        return table
    }

    @Sendable private static func retry(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let id = try webhook(invocation)
        let dead = try LedgerWork.run(invocation) { ledger in
            guard let webhook = try await ledger.webhooks().first(where: { $0.id == id }) else {
                throw Refusal.missing("webhook \(id)")
            }
            return webhook.dead
        }
        let sofar = Latest(0)
        let bar = CountBar(of: dead, "delivery", outlet: console.talk)
        defer { bar.clear() }
        let count: Int
        do {
            // There may be more than the list counts.
            count = try LedgerWork.run(invocation, onTick: { bar.show(min(sofar.value, dead)) }) { ledger in
                try await ledger.retryDeliveries(to: id, invocation[delivery]) { sofar.value = $0 }
            }
        } catch {
            bar.clear()
            // Those of pages before the error stay.
            if sofar.value > 0 { console.say("\(Figures.grouped(sofar.value)) will be sent again, before the error") }
            throw error
        }
        bar.clear()
        guard count > 0 else {
            throw Refusal(message: "webhook \(id) has no such dead deliveries", exitCode: .nothingMatched)
        }
        console.say("\(Figures.grouped(count)) will be sent again")
        return .success
    }
}
