import API
import Conversion
import HTTPServer

extension Problem {
    /// Whether the same may be taken later, or has been taken: it must be sent again with the same key.
    var mayPass: Bool { status.rawValue >= 500 || status == .tooManyRequests }
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
