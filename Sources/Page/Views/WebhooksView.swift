import API
import Conversion
import FoundationEssentials
import Ledger

/// Webhooks, what they were sent lately, and a form for a new one.
struct WebhooksView {
    static let pageLength = 20

    let webhooks: [Webhook]
    let deliveries: [WebhookDelivery]
    /// The only webhook whose deliveries are shown.
    var chosen: Int64?
    let hasMore: Bool
    let isFirst: Bool
    /// Whether a new one may be told of the batches of all, and each may be changed.
    let isForAll: Bool
    /// The submitter whose webhooks may be changed, too. Others may only be named by submissions.
    var account: String?
    /// The form for a new one, if it was not taken.
    var refused: RefusedForm?
    let now: Date

    var content: PageContent {
        PageContent(
            title: "Webhooks",
            section: .webhooks,
            main: """
                <div class="head"><div><h1>\(heading)</h1><p class="soft">Each is sent a request when a batch has ended, and \
                operators also when workers are lost or too many jobs fail.</p></div></div>
                \(refused == nil ? "" : form)\(table)
                \(list)
                \(refused == nil ? form : "")

                """,
            // What was told must stay until it has been read.
            live: refused == nil ? [("queues", "true")] : [],
            terminal: "sluice webhooks"
        )
    }

    private var heading: String {
        let failing = webhooks.count { $0.failures > 0 || $0.dead > 0 }
        let all = webhooks.isEmpty ? "No webhooks yet" : Figures.count(webhooks.count, "webhook")
        return failing > 0 ? "\(all), \(failing) with failed requests" : all
    }

    // MARK: - Webhooks

    private var table: HTML {
        guard !webhooks.isEmpty else { return "" }
        return """
            <form method="post" action="/webhooks"><table class="rows"><thead><tr><th scope="col">Webhook</th>\
            <th scope="col">Address</th><th scope="col">Events</th><th scope="col" class="n">Waiting</th>\
            <th scope="col" class="n">Given up</th><th scope="col">State</th>\(QueuesView.actionHead)</tr></thead>
            <tbody>\(.all(webhooks.prefix(100).map(row)))</tbody></table></form>
            """
    }

    private func row(_ webhook: Webhook) -> HTML {
        let number = Int64(webhook.id)
        let mayChange = isForAll || webhook.submitter != nil && webhook.submitter == account
        let link = PageLink(["webhooks"], query: [("webhook", "\(number)")])
        let name = webhook.name.map { $0.cutInside(to: 64) } ?? "\(number)"
        let retry: HTML =
            webhook.dead > 0
            ? "<button class=\"b\" name=\"retry\" value=\"\(number)\">Send again<span class=\"vh\"> to \(name)</span></button> "
            : ""
        let buttons: HTML = """
            \(retry)<button class="b" name="test" value="\(number)">Test<span class="vh"> \(name)</span></button>\
            <details><summary>Remove…<span class="vh"> \(name)</span></summary><button class="b stop" name="remove" \
            value="\(number)">Remove it, with its deliveries</button></details>
            """
        let title: HTML =
            mayChange ? "<a class=\"quiet\" href=\"\(link)\"><bdi>\(name)</bdi></a>" : "<bdi>\(name)</bdi>"
        return """

            <tr><th scope="row">\(title)</th>\
            <td class="src w"><bdi>\(webhook.url.cutInside(to: 200))</bdi></td>\
            <td class="w">\(Self.events(webhook))<br><span class="soft">\(Self.scope(webhook))</span></td>\
            <td class="n" data-k="waiting">\(Figures.grouped(webhook.waiting))</td>\
            <td class="n" data-k="given up">\(Figures.grouped(webhook.dead))</td><td class="w">\(state(webhook))</td>\
            <td class="n">\(mayChange ? buttons : "")</td></tr>
            """
    }

    private static func events(_ webhook: Webhook) -> String { webhook.events.map(\.rawValue).joined(separator: ", ") }

    private static func scope(_ webhook: Webhook) -> String {
        let named = webhook.onNotify ? ", if submissions name it" : ""
        if let batch = webhook.batch { return "of batch \(batch)" }
        if let queue = webhook.queue { return "of queue \(queue)\(named)" }
        if let submitter = webhook.submitter { return "of the batches of \(submitter.cutInside(to: 80))\(named)" }
        return "of all batches\(named)"
    }

    private func state(_ webhook: Webhook) -> HTML {
        if webhook.failures > 0 {
            let count = Figures.count(webhook.failures, "request")
            return "<span class=\"s failed\">\(count) in a row failed</span>"
        }
        guard let date = webhook.deliveredAt else { return "<span class=\"soft\">nothing was delivered yet</span>" }
        return "<span class=\"soft\">delivered \(PageTime.ago(date, at: now))</span>"
    }

    // MARK: - Deliveries

    private var list: HTML {
        guard !deliveries.isEmpty else {
            return chosen == nil && isFirst ? "" : "<p class=\"soft\">No deliveries. <a href=\"/webhooks\">All</a></p>"
        }
        let query: [(name: String, value: String)] = [("webhook", chosen.map { "\($0)" } ?? "")]
        let older = PageLink(["webhooks"], query: query + [("before", "\(deliveries.last?.id ?? 0)")])
        let first = isFirst ? nil : PageLink(["webhooks"], query: query)
        let pages = PagesBar(first: first, next: hasMore ? older : nil)
        let all: HTML = chosen == nil ? "" : " <a href=\"/webhooks\">Those of all webhooks</a>"
        return """
            <section aria-labelledby="sent"><div class="bar"><h2 id="sent">Deliveries</h2>\(all)</div><table class="rows"><thead>\
            <tr><th scope="col">ID</th><th scope="col">Webhook</th><th scope="col">Event</th><th scope="col">State</th>\
            <th scope="col" class="n">Requests</th><th scope="col">Last answer</th><th scope="col" class="n">When</th></tr></thead>
            <tbody>\(.all(deliveries.map(row)))</tbody></table>
            \(pages.html)</section>
            """
    }

    private func row(_ delivery: WebhookDelivery) -> HTML {
        let shape: HTML =
            switch delivery.state {
            case .waiting: delivery.attempts > 0 ? "delayed" : "waiting"
            case .delivered: "completed"
            case .dead: "failed"
            }
        let status = delivery.status.map { "\($0)" } ?? ""
        let answer = [status, delivery.error?.cutInside(to: 300) ?? ""].filter { !$0.isEmpty }.joined(separator: ", ")
        return """

            <tr><td class="t">\(delivery.id)</td><td class="t" data-k="webhook">\(Int64(delivery.webhook))</td>\
            <td class="t">\(delivery.event.cutInside(to: 60))</td>\
            <td class="t"><span class="s \(shape)">\(delivery.state.rawValue)</span></td>\
            <td class="n" data-k="requests">\(delivery.attempts)</td><td class="w">\(answer)</td>\
            <td class="n e">\(PageTime.ago(delivery.createdAt, at: now))</td></tr>
            """
    }

    // MARK: - A new one

    private var form: HTML {
        let events: HTML = .all(
            Webhook.Event.allCases.map { event in
                let mark: HTML = refused?.query.words("event").contains(event.rawValue) == true ? " checked" : ""
                return """
                    <label class="chip"><input type="checkbox" name="event" value="\(event.rawValue)"\(mark)>\
                    \(event.rawValue)</label>
                    """
            }
        )
        let (url, name, queue) = (refused?.text("url") ?? "", refused?.text("name") ?? "", refused?.text("queue") ?? "")
        let mark: HTML = refused?.query.text("own") == nil ? "" : " checked"
        let own: HTML =
            isForAll
            ? "<label class=\"chip\"><input type=\"checkbox\" name=\"own\" value=\"true\"\(mark)>only my own batches</label>"
            : "<input type=\"hidden\" name=\"own\" value=\"true\">"
        return """
            \(refused?.problem.panel() ?? "")<section aria-labelledby="new"><h2 id="new">A new webhook</h2><form class="form" method="post" action="/webhooks">\
            <label class="f">Address <input type="url" name="url" value="\(value: url)" required placeholder="https://" maxlength="2000"></label>\
            <div class="two"><label class="f">Name, for submissions <input name="name" value="\(value: name)" maxlength="64"></label>\
            <label class="f">Only this queue <input name="queue" value="\(value: queue)" maxlength="63"></label></div>\
            <fieldset class="chips"><legend>Only these events; none chosen: all</legend>\(events)\(own)</fieldset>\
            <p class="do"><button class="b go">Create</button></p></form></section>
            """
    }
}

/// What is told once of a webhook that was created.
struct CreatedWebhookView {
    let number: Int64
    let secret: String

    var content: PageContent {
        PageContent(
            title: "Webhook \(number)",
            section: .webhooks,
            main: """
                <div class="head"><h1>Webhook \(number) is created</h1></div>
                <div class="panel on"><p>By this secret its receiver checks the signatures of requests. It is not shown again.</p>\
                <pre tabindex="0" aria-label="The secret">\(secret)</pre><p class="do"><a class="b go" href="/webhooks">Done</a></p>\
                </div>

                """,
            terminal: "sluice webhooks"
        )
    }
}
