import Conversion

/// The form for a token.
struct LoginView {
    /// Why the browser is here again.
    var said: String?
    /// Where it goes after the login.
    var next: String
    /// A form for jobs that is sent again then.
    var draft: SubmissionDraft?
    /// Whether one-time links begin sessions, and tokens are for others.
    var hasLinks = false

    var content: PageContent {
        let alert: HTML = said.map { "<p role=\"alert\"><span class=\"s failed\">\($0)</span></p>" } ?? ""
        return PageContent(
            title: "Log in",
            main: """
                <div class="head"><h1>Log in</h1></div>
                <form class="form panel" method="post" action="/login">\(alert)\
                <label class="f">Token <input type="password" name="token" required autocomplete="current-password" \
                placeholder="slt_…" aria-describedby="how"></label>\
                <input type="hidden" name="next" value="\(value: next)">\(draft?.fields(key: draft?.key) ?? "")\
                <p class="soft" id="how">\(how)</p>\
                <p class="do"><button class="b go">Log in</button></p></form>

                """
        )
    }

    private var how: HTML {
        hasLinks
            ? """
            This is a private cluster. Its owner needs no token: <code>sluice open</code> makes a link that logs in.
            """
            : """
            An operator makes one with <code>sluice tokens create --role viewer --name you</code>. The page shows what its \
            role may see.
            """
    }
}
