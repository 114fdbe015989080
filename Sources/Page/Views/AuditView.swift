import API
import Conversion
import FoundationEssentials
import Ledger

/// Who changed what.
struct AuditView {
    static let pageLength = 40

    let records: [AuditRecord]
    let hasMore: Bool
    let isFirst: Bool
    /// Of whom alone.
    var who: String?
    let now: Date

    var content: PageContent {
        PageContent(
            title: "Audit",
            section: .audit,
            main: """
                <div class="head"><h1>Who changed what</h1></div>
                <search><form class="filter" action="/audit"><div><label class="f">By <input name="who" \
                value="\(value: who ?? "")" placeholder="a login, or token:NAME"></label><button class="b">Show</button> \
                <a class="b plain" href="/audit">Clear</a></div></form></search>
                \(records.isEmpty ? none : table)

                """,
            live: [("queues", "true")],
            terminal: who.map { "sluice audit --by \($0.shellWord)" } ?? "sluice audit"
        )
    }

    private var none: HTML {
        "<section class=\"empty\" aria-labelledby=\"none\"><h2 id=\"none\">\(isFirst ? "No changes" : "No more changes")</h2></section>"
    }

    private var table: HTML {
        let query: [(name: String, value: String)] = [("who", who ?? "")]
        let older = PageLink(["audit"], query: query + [("before", "\(records.last?.id ?? 0)")])
        let first = isFirst ? nil : PageLink(["audit"], query: query)
        let pages = PagesBar(first: first, next: hasMore ? older : nil)
        return """
            <table class="rows"><thead><tr><th scope="col">When</th><th scope="col">Who</th><th scope="col">What</th>\
            <th scope="col" class="n">Changed</th><th scope="col">Details</th></tr></thead>
            <tbody>\(.all(records.map(row)))</tbody></table>\(pages.html)
            """
    }

    private func row(_ record: AuditRecord) -> HTML {
        let link = PageLink(["audit"], query: [("who", record.who)])
        let tenant: HTML = record.tenant.map { " <span class=\"soft\">tenant <bdi>\($0)</bdi></span>" } ?? ""
        return """

            <tr id="a\(record.id)"><td class="t">\(PageTime.clock(record.at, at: now))</td>\
            <td class="t"><a href="\(link)"><bdi>\(record.who.cutInside(to: 80))</bdi></a>\(tenant)</td>\
            <td class="t"><code>\(record.what.cutInside(to: 60))</code></td>\
            <td class="n" data-k="changed">\(Figures.grouped(record.affected))</td>\
            <td class="w loc"><code>\(record.details.cutInside(to: 400))</code></td></tr>
            """
    }
}
