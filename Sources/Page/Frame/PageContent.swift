import Conversion
import HTTPServer

/// What a view puts into the frame.
struct PageContent: Sendable {
    /// The title of the document, before the name of the cluster.
    var title: String
    /// The entry of the menu to which it belongs.
    var section: PageFrame.Section?
    var main: HTML
    /// Whether throughput and workers stand side by side on wide screens.
    var isOverview = false
    /// The events after which it is read again, as the API's parameters name them; none: it stays as it is.
    var live: [(name: String, value: String)] = []
    /// Whether it shows what moves without an event, such as how far jobs are.
    var moves = false
    /// A script besides that of every page.
    var script: String?
    /// The command that says the same; `nil` if there is none.
    var terminal: String?
    var status = HTTPStatus.ok
}
