import API
import Conversion
import FoundationEssentials
import Ledger

/// The tenants of an installation: what they may, and what they have used.
struct TenantsView {
    let tenants: [Tenant]
    let now: Date
    private static let mostRows = 500

    var content: PageContent {
        let held = tenants.count { $0.hold != nil }
        let limits = held == 1 ? "its limit" : "their limits"
        let heading =
            Figures.count(tenants.count, "tenant")
            + (held > 0 ? ", \(Figures.grouped(held)) \(Plural.have(held)) reached \(limits)" : "")
        let rest: HTML =
            tenants.count > Self.mostRows
            ? "<p class=\"soft\">\(Figures.count(tenants.count - Self.mostRows, "tenant")) more not shown.</p>" : ""
        return PageContent(
            title: "Tenants",
            section: .tenants,
            main: """
                <div class="head"><div><h1>\(heading)</h1><p class="soft">Used in 24 hours. <code>sluice tenants limit</code> \
                changes what they may.</p></div></div>
                <table class="rows"><thead><tr><th scope="col">Tenant</th><th scope="col" class="n">Tokens</th>\
                <th scope="col" class="n">CPU minutes</th><th scope="col" class="n">Outputs</th>\
                <th scope="col" class="n">Waiting limit</th><th scope="col">Reads</th><th scope="col">Writes</th>\
                <th scope="col">State</th></tr></thead>
                <tbody>\(.all(tenants.prefix(Self.mostRows).map(row)))</tbody></table>\(rest)

                """,
            live: [("queues", "true")],
            terminal: "sluice tenants"
        )
    }

    private func row(_ tenant: Tenant) -> HTML {
        let limits = tenant.limits
        let minutes = Figures.grouped(Int64(tenant.usedCPU.seconds / 60))
        let state: HTML =
            tenant.hold.map { "<span class=\"s paused\">continues \(PageTime.ahead($0.until, at: now))</span>" } ?? ""
        return """

            <tr><th scope="row"><bdi>\(tenant.name.cutInside(to: 60))</bdi></th>\
            <td class="n" data-k="tokens">\(Figures.grouped(tenant.tokens))</td>\
            <td class="n" data-k="minutes">\(Self.used(minutes, limits.cpuMinutes.map { Figures.grouped($0) }))</td>\
            <td class="n" data-k="outputs">\(Self.used(Figures.bytes(tenant.usedOutputBytes), limits.outputBytes.map(Figures.bytes)))</td>\
            <td class="n" data-k="waiting limit">\(limits.waitingJobs.map { Figures.grouped($0) } ?? "")</td>\
            <td class="w">\(Self.places(limits.reads))</td><td class="w">\(Self.places(limits.writes))</td>\
            <td class="w">\(state)</td></tr>
            """
    }

    /// `12 of 600`, or what was used if there is no limit.
    private static func used(_ amount: String, _ limit: String?) -> String {
        limit.map { "\(amount) of \($0)" } ?? amount
    }

    private static func places(_ places: [String]?) -> String {
        guard let places else { return "" }
        return places.isEmpty ? "nothing" : places.joined(separator: ", ").cutInside(to: 200)
    }
}
