import API
import Conversion
import FoundationEssentials
import Ledger

/// The tokens of an installation, without those that have ended.
struct TokensView {
    let tokens: [TokenRecord]
    let now: Date
    private static let mostRows = 500

    var content: PageContent {
        let rest: HTML =
            tokens.count > Self.mostRows
            ? "<p class=\"soft\">\(Figures.count(tokens.count - Self.mostRows, "token")) more not shown.</p>" : ""
        return PageContent(
            title: "Tokens",
            section: .tokens,
            main: """
                <div class="head"><div><h1>\(Figures.count(tokens.count, "token"))</h1><p class="soft">\
                <code>sluice tokens create --role viewer --name nina</code> makes one, and <code>sluice tokens revoke nina</code> \
                ends it: within seconds everywhere.</p></div></div>
                <table class="rows"><thead><tr><th scope="col">Name</th><th scope="col">Role</th><th scope="col">Tenant</th>\
                <th scope="col">Queue</th><th scope="col">Expires</th><th scope="col">Created by</th>\
                <th scope="col" class="n">Created</th><th scope="col" class="n">Last used</th></tr></thead>
                <tbody>\(.all(tokens.prefix(Self.mostRows).map(row)))</tbody></table>\(rest)

                """,
            live: [("queues", "true")],
            terminal: "sluice tokens"
        )
    }

    private func row(_ token: TokenRecord) -> HTML {
        let used: HTML = token.usedAt.map { PageTime.ago($0, at: now) } ?? "<span class=\"soft\">never</span>"
        let expires: HTML = token.expiresAt.map { PageTime.ahead($0, at: now) } ?? ""
        return """

            <tr><th scope="row"><bdi>\(token.name.cutInside(to: 60))</bdi></th><td class="t">\(token.role.rawValue)</td>\
            <td class="t"><bdi>\((token.tenant ?? "").cutInside(to: 60))</bdi></td>\
            <td class="t"><bdi>\((token.queue ?? "").cutInside(to: 63))</bdi></td><td class="t">\(expires)</td>\
            <td class="t"><bdi>\(token.createdBy.cutInside(to: 60))</bdi></td>\
            <td class="n" data-k="created">\(PageTime.ago(token.createdAt, at: now))</td>\
            <td class="n" data-k="used">\(used)</td></tr>
            """
    }
}
