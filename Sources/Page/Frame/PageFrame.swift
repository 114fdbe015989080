import API
import Conversion
import HTTPServer
import Ledger

/// What is around every view: the head of the document, the menu, who looks, and the same in a terminal.
struct PageFrame: Sendable {
    /// An entry of the menu.
    enum Section: String, Sendable, CaseIterable {
        case overview, jobs, batches, failures, workers, submit, queues, changes, webhooks
        case tokens, tenants, audit

        var route: PageRoute {
            switch self {
            case .overview: .overview
            case .jobs: .jobs
            case .batches: .batches
            case .failures: .failures
            case .workers: .workers
            case .submit: .submit
            case .queues: .queues
            case .changes: .changes
            case .webhooks: .webhooks
            case .tokens: .tokens
            case .tenants: .tenants
            case .audit: .audit
            }
        }

        var link: PageLink { self == .overview ? PageLink() : PageLink([rawValue]) }
        var title: String { rawValue.capitalised }
        /// Those that have a place of their own on small screens.
        var isTab: Bool {
            switch self {
            case .overview, .jobs, .batches, .failures, .workers: true
            case .submit, .queues, .changes, .webhooks, .tokens, .tenants, .audit: false
            }
        }
    }

    /// The name of the cluster; without one, that by which the browser has reached the coordinator.
    let name: String
    let version: String
    /// `nil` before the login.
    let rights: CallerRights?
    let hasSession: Bool
    var colour: ClusterColour?

    static func outside(name: String, version: String, colour: ClusterColour? = nil) -> PageFrame {
        PageFrame(name: name, version: version, rights: nil, hasSession: false, colour: colour)
    }

    /// The name in the `Host` field, without a port.
    static func name(of head: RequestHead) -> String {
        RequestHead.hostName(head.field("host") ?? "").cutInside(to: 80)
    }

    func document(_ content: PageContent) -> HTML {
        let terminal: HTML =
            content.terminal.map {
                "<footer class=\"foot\"><span>In a terminal: <code>\($0)</code></span></footer>"
            } ?? ""
        let kind: HTML = content.isOverview ? " class=\"over\"" : ""
        let isLive = rights != nil && !content.live.isEmpty
        let moves: HTML = content.moves ? " data-moves" : ""
        let live: HTML = isLive ? " data-live=\"\(PageLink(["live"], query: content.live))\"\(moves)" : ""
        let script: HTML = content.script.map { Self.script($0) } ?? ""
        return """
            \(start(content.title, script))<body>
            <a class="skip" href="#main">Skip to the content</a>
            <header class="top"><a class="name" href="/">\(breakableName) <small>Sluice \(version)</small></a>\
            \(menu(content.section))\(who)</header>
            <p class="vh" role="status"></p>
            <main id="main"\(kind)\(live)>
            \(content.main)\(terminal)
            </main>
            </body>
            </html>

            """
    }

    private static func script(_ name: String) -> HTML {
        "<script src=\"\(PageAsset.path(of: name))\" defer></script>"
    }

    /// The name with places where a line may end.
    private var breakableName: HTML {
        .joined(name.split(separator: ".", omittingEmptySubsequences: false).map { "\(String($0))" }, by: ".<wbr>")
    }

    private func start(_ title: String, _ more: HTML = "") -> HTML {
        let cluster: HTML = colour.map { " data-cluster=\"\($0.rawValue)\"" } ?? ""
        return """
            <!doctype html>
            <html lang="en"\(cluster)>
            <head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">\
            <meta name="color-scheme" content="light dark"><title>\(title) · \(name) · Sluice</title>\
            <link rel="icon" href="\(PageAsset.path(of: ClusterColour.icon(colour)))"><link rel="stylesheet" href="\(PageAsset.path(of: "page"))">\
            \(Self.script("live"))\(more)</head>

            """
    }

    private func menu(_ current: Section?) -> HTML {
        guard let rights else { return "" }
        let seen = Section.allCases.filter { section in section.route.operation.map(rights.may) ?? true }
        func items(_ sections: [Section]) -> HTML {
            .all(
                sections.map { section in
                    let mark: HTML = section == current ? " aria-current=\"page\"" : ""
                    return "<li><a href=\"\(section.link)\"\(mark)>\(section.title)</a></li>"
                }
            )
        }
        let others = seen.filter { !$0.isTab }
        let more: HTML =
            others.isEmpty
            ? ""
            : "<nav aria-label=\"More\"><details class=\"more\"><summary>More</summary><ul>\(items(others))</ul></details></nav>"
        return "<nav aria-label=\"Main\"><ul class=\"tabs\">\(items(seen.filter(\.isTab)))</ul></nav>\(more)"
    }

    private var who: HTML {
        guard let rights else { return "" }
        let caller = rights.caller
        let tenant: HTML = caller.tenant.map { ", tenant <bdi>\($0)</bdi>" } ?? ""
        let person: HTML =
            rights.isOwner
            ? "<b>Your private cluster</b>" : "<b><bdi>\(caller.name)</bdi></b>, \(caller.role.rawValue)\(tenant)"
        let end: HTML =
            hasSession
            ? "<form class=\"live\" method=\"post\" action=\"/logout\"><button class=\"b\">Log out</button></form>" : ""
        return """
            <div class="who"><p>\(person)</p>\
            <p class="soft">Times are in UTC</p>\(end)</div>
            """
    }

    /// A page that at once goes on to another of this site.
    func passage(to link: PageLink) -> HTML {
        """
        \(start("Continue", "<meta http-equiv=\"refresh\" content=\"0;url=\(link)\">"))<body>
        <main id="main"><p><a href="\(link)">Continue to Sluice</a></p></main>
        </body>
        </html>

        """
    }
}
