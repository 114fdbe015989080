import API
import Conversion
import HTTPServer

extension Problem {
    /// Whether the same may be taken later, or has been taken: it must be sent again with the same key.
    var mayPass: Bool { status.rawValue >= 500 || status == .tooManyRequests }

    /// Whether a form with other values may be taken.
    var isOfForm: Bool { [.badRequest, .conflict, .unprocessableContent, .tooManyRequests].contains(status) }

    /// What is wrong with a form that is shown again.
    func panel(_ more: HTML = "") -> HTML {
        let lines: HTML = .all(
            mistakes.prefix(10).map { "<p><b>\($0.pointer.cutInside(to: 400))</b> \($0.detail).</p>" }
        )
        let detail: HTML = self.detail.map { "<p>\($0.sentence)</p>" } ?? ""
        let hint: HTML = kind == nil ? "" : self.hint.map { " \($0.sentence)" } ?? ""
        return """
            <div class="panel err" role="alert"><h2><span class="s failed">\(title.capitalised)</span></h2>\
            \(detail)\(lines)<p class="soft"><code>\(code)</code>\(hint)</p>\(more)</div>

            """
    }
}

/// A form as it was sent, and why it was not taken.
struct RefusedForm: Sendable {
    let query: PageQuery
    let problem: Problem

    /// What was written into a field.
    func text(_ name: String) -> String { query.text(name) ?? "" }
}

/// Why there is nothing to show.
struct ProblemView {
    let problem: Problem

    var content: PageContent {
        let title = problem.title.capitalised
        var lines: [HTML] = []
        if let detail = problem.detail { lines.append("<p>\(detail.sentence)</p>") }
        for mistake in problem.mistakes { lines.append("<p><b>\(mistake.pointer)</b> \(mistake.detail).</p>") }
        // Other hints are for programs that send requests.
        let hint: HTML = problem.kind == nil ? "" : problem.hint.map { " \($0.sentence)" } ?? ""
        lines.append("<p class=\"soft\"><code>\(problem.code)</code>\(hint)</p>")
        let again: HTML =
            problem.retryAfter == nil ? "" : "<p class=\"soft\">Load this page again in a moment.</p>"
        return PageContent(
            title: title,
            main: """
                <div class="panel err" role="alert"><h1><span class="s failed">\(title)</span></h1>\
                \(.all(lines))\(again)<p class="do"><a class="b" href="/">Overview</a></p></div>

                """,
            status: problem.status
        )
    }
}
