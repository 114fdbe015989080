package import API
import Conversion
import FoundationEssentials
package import HTTPServer
import Ledger

/// The page of a coordinator: what its ledger holds, for browsers.
///
/// It is rendered here, and works without a script. It has no rights of its own: the API's declarations say who may see
/// what, and the ledger acts for the caller.
package struct CoordinatorPages: PageService {
    private let version: String
    /// Of the cluster; without a name, pages have that of the host.
    private let name: String?
    private let colour: ClusterColour?
    /// The root of excerpts, whose outputs the coordinator serves; `nil`: there are none.
    private let excerptRoot: String?

    package init(
        version: String,
        name: String? = nil,
        colour: ClusterColour? = nil,
        excerptRoot: String? = nil
    ) {
        (self.version, self.name, self.colour, self.excerptRoot) = (version, name, colour, excerptRoot)
    }

    package func receive(_ head: RequestHead, _ access: PageAccess) -> Reception? {
        guard let route = PageRoute(head.path) else { return nothing(at: head) }
        guard route.methods.contains(head.method) else {
            var answer = finished(problemPage(Problem(.wrongMethod), head, nil), .methodNotAllowed)
            answer.fields.append(("Allow", route.methods.joined(separator: ", ")))
            return .answer(answer)
        }
        switch route {
        case .asset(let name):
            guard let answer = PageAsset.answer(name, head) else { return nil }
            return .answer(answer)
        case .login where head.method == "POST":
            // A token, a path that may have three bytes for each that is escaped, and a form that is kept.
            let limit = 2 << 10 + 3 * PageTarget.mostBytes + SubmissionDraft.mostKept
            return form(head, access, limit: limit) {
                granted(head, access, account: "form:\(head.network)") { await logIn(head, access, $0) }
            }
        case .logout:
            return form(head, access, limit: 4 << 10) {
                granted(head, access, account: "form:\(head.network)") { _ in loggedOut(head, access) }
            }
        case .login:
            let link = PageQuery(head).text("link")
            if head.method == "GET", let link, access.hasLinks { return .run { follow(link, head, access) } }
            return .answer(finished(loginPage(head, access), .ok))
        case .live: return .run { await answer(of: "listenToEvents", head, access) }
        case .places: return .run { await answer(of: "listPlaces", head, access) }
        case .output(let output, let job): return .run { await file(output, of: job, head, access) }
        case .submit where head.method == "POST":
            return form(head, access, limit: 1 << 20) { await permission(for: route, head, access) }
        case .file(let path, let root): return upload(path, to: root, head, access)
        case _ where head.method == "POST":
            // A filter, with the numbers of a thousand jobs.
            return form(head, access, limit: 64 << 10) { await permission(for: route, head, access) }
        default: return .run { await view(route, head, access) }
        }
    }

    /// A page for people who have mistyped an address; programs get the answer of the API.
    private func nothing(at head: RequestHead) -> Reception? {
        guard head.path.first != "api", head.field("accept")?.contains("text/html") == true else { return nil }
        let problem = Problem(.noSuchThing, "there is nothing at this address")
        return .answer(finished(problemPage(problem, head, nil), problem.status))
    }

    // MARK: - Forms

    /// Reads a form, after the check that a page of this coordinator has sent it.
    private func form(
        _ head: RequestHead,
        _ access: PageAccess,
        limit: Int,
        _ permit: @escaping @Sendable () async -> BodyPermission
    ) -> Reception {
        func refused(_ problem: Problem) -> Reception {
            let answer = finished(problemPage(problem, head, nil), problem.status)
            // A short body is read to its end, so that the refusal is not lost.
            return .collect(bodyLimit: Int(clamping: head.bodyLength)) { .refused(answer) }
        }
        do { try access.checkOrigin(head) } catch { return refused(error) }
        guard head.bodyType == "application/x-www-form-urlencoded" else { return refused(Problem(.wrongType)) }
        guard head.bodyLength <= limit else {
            return refused(Problem(.bodyTooLarge, "a form may have \(Figures.bytes(Int64(limit)))"))
        }
        return .collect(bodyLimit: limit, permit)
    }

    /// Runs with the form once it has arrived.
    private func granted(
        _ head: RequestHead,
        _ access: PageAccess,
        account: String,
        _ run: @escaping @Sendable (PageQuery) async -> HTTPAnswer
    ) -> BodyPermission {
        .granted(account: account) { bytes in
            do {
                return try await access.answer(form: bytes, of: account, parse: PageQuery.parse(form:), run: run)
            } catch {
                let problem = access.problem(error)
                return finished(problemPage(problem, head, nil), problem.status)
            }
        }
    }

    /// A form that changes something is read only for those who have a session, or need none.
    private func permission(for route: PageRoute, _ head: RequestHead, _ access: PageAccess) async -> BodyPermission {
        do {
            let visitor = try await self.visitor(head, access)
            return granted(head, access, account: visitor.rights.caller.account) { query in
                switch route {
                case .submit: await submit(head, access, SubmissionDraft(query))
                case .excerpts(let job): await prepare(job, head, access, query)
                default: await change(route, head, access, query)
                }
            }
        } catch {
            let problem = access.problem(error)
            guard route == .submit, problem.status == .unauthorized, head.bodyLength <= SubmissionDraft.mostKept else {
                return .refused(stranger(problem, head, access))
            }
            // The form of the login has it until then: nothing of it is kept here, or in an address.
            return granted(head, access, account: "form:\(head.network)") {
                stranger(problem, head, access, SubmissionDraft($0))
            }
        }
    }

    /// Has the API do what a form asks for.
    private func change(
        _ route: PageRoute,
        _ head: RequestHead,
        _ access: PageAccess,
        _ query: PageQuery
    ) async -> HTTPAnswer {
        await answer(head, access) { visitor, frame in
            let form: PageForm
            let done: JSONValue?
            do {
                form = try PageForm(route, query, now: try await visitor.ledger.time())
                done = try await access.run(form.operation, for: visitor, path: form.path, body: form.body)
            } catch {
                let problem = access.problem(error)
                guard problem.isOfForm, PageForm.isWritten(route, query) else { throw error }
                if let operation = route.operation { try access.checkRight(to: operation, of: visitor) }
                var reader = try await self.reader(head, access, visitor, route)
                reader.refused = RefusedForm(query: query, problem: problem)
                let content = try await reader.content(of: route)
                return finished(frame.document(content), problem.status)
            }
            if form.isToldOnce {
                let (number, secret) = (done?.members?["id"]?.whole ?? 0, done?.members?["secret"]?.text ?? "")
                return finished(frame.document(CreatedWebhookView(number: number, secret: secret).content), .ok)
            }
            if case .job(let number) = route, PageForm.hadNoEffect(done) {
                let reader = try await self.reader(head, access, visitor, route)
                let content = try await reader.job(number, after: query.text("change").flatMap(WantedChange.init))
                return finished(frame.document(content), content.status)
            }
            var answer = finished(nil, .seeOther)
            answer.fields.append(("Location", form.target(after: done)))
            return answer
        }
    }

    /// Has the API take the jobs that make excerpts of a job.
    private func prepare(
        _ job: String,
        _ head: RequestHead,
        _ access: PageAccess,
        _ query: PageQuery
    ) async -> HTTPAnswer {
        await answer(head, access) { visitor, _ in
            try access.checkRight(to: "submitBatch", of: visitor)
            let reader = try await self.reader(head, access, visitor, .excerpts(job: job), query)
            let (body, part) = try await reader.request(forExcerptsOf: job)
            if !body.isEmpty { try await access.run("submitBatch", for: visitor, body: body) }
            var answer = finished(nil, .seeOther)
            let target = PageLink(["jobs", job], query: [("part", part > 0 ? "\(part + 1)" : "")])
            answer.fields.append(("Location", "\(target.text)#listen"))
            return answer
        }
    }

    /// Shows what a submission would do, or has the API take it.
    private func submit(_ head: RequestHead, _ access: PageAccess, _ draft: SubmissionDraft) async -> HTTPAnswer {
        await answer(head, access) { visitor, frame in
            try access.checkRight(to: "submitBatch", of: visitor)
            var view = SubmitView(draft: draft, presets: try Preset.all.map { try NamedPreset($0) })
            do {
                // Without a ledger, what a person has written is still shown.
                view = try await reader(head, access, visitor, .submit).submission(draft)
                let destinations = try draft.destinations(view.presets)
                let body = draft.body(destinations)
                if draft.isFinal {
                    // Shown again only if this fails.
                    view.plan = draft.key.map {
                        SubmitView.Plan(jobs: draft.sources.count, destinations: destinations, key: $0)
                    }
                    // Sent twice, it is submitted once.
                    let fields = draft.key.map { [RequestHead.Field("idempotency-key", $0)] } ?? []
                    let receipt = try await access.run("submitBatch", for: visitor, body: body, fields: fields)
                    var answer = finished(nil, .seeOther)
                    let batch = receipt?.members?["batch"]?.whole ?? 0
                    answer.fields.append(("Location", PageLink.batch(batch).text))
                    return answer
                }
                let count = try await access.run("previewBatch", for: visitor, body: body)?.members?["jobs"]?.whole
                view.plan = SubmitView.Plan(
                    jobs: Int(clamping: count ?? 0),
                    destinations: destinations,
                    key: draft.key ?? UUID().uuidString
                )
            } catch {
                let problem = access.problem(error)
                view.problem = problem
                if !problem.mayPass { view.plan = nil }
            }
            let content = view.content
            return finished(frame.document(content), content.status)
        }
    }

    // MARK: - Sessions

    private func logIn(_ head: RequestHead, _ access: PageAccess, _ query: PageQuery) async -> HTTPAnswer {
        let next = PageTarget(query.text("next")).text
        let token = query.text("token").map { String(Substring($0).trimmingSpaces) } ?? ""
        let draft = query.names.contains("sources") ? SubmissionDraft(query) : nil
        guard !token.isEmpty else {
            return finished(loginPage(head, access, said: "Paste a token.", next: next, draft), .badRequest)
        }
        do {
            _ = try await access.visitor(head, session: token)
            // The browser sends a form that was kept once more, which shows what it would submit.
            var answer = finished(nil, draft == nil ? .seeOther : .temporaryRedirect)
            let place = draft == nil ? next : PageLink(["submit"]).text
            answer.fields += [("Location", place), SessionCookie(head).beginning(token)]
            return answer
        } catch {
            let problem = access.problem(error)
            guard problem.status == .unauthorized else {
                return finished(problemPage(problem, head, nil), problem.status)
            }
            let said = "The token is not valid" + (problem.detail.map { ": \($0)." } ?? ".")
            return unauthorized(loginPage(head, access, said: said, next: next, draft))
        }
    }

    /// Begins a session with a one-time link, and leads on: the address of the page has nothing of the link.
    private func follow(_ link: String, _ head: RequestHead, _ access: PageAccess) -> HTTPAnswer {
        do throws(Problem) {
            // A browser that only expects the page to be opened must not use the link up.
            let isAhead = ["sec-purpose", "purpose"].contains { head.field($0)?.contains("prefetch") == true }
            guard !isAhead else { throw Problem(.overloaded, "the link is for when the page is opened") }
            let token = try access.begin(withLink: link, head)
            var answer = finished(nil, .seeOther)
            answer.fields.removeAll { $0.name == "Referrer-Policy" }
            answer.fields += [
                ("Location", "/"), SessionCookie(head).beginning(token), ("Referrer-Policy", "no-referrer"),
            ]
            return answer
        } catch {
            guard error.status == .unauthorized else {
                return finished(problemPage(error, head, nil), error.status)
            }
            let said = "This link is no longer valid. A link works once, within five minutes."
            return unauthorized(loginPage(head, access, said: said))
        }
    }

    private func loggedOut(_ head: RequestHead, _ access: PageAccess) -> HTTPAnswer {
        if let token = SessionCookie(head).token(in: head) { access.end(session: token) }
        var answer = finished(nil, .seeOther)
        answer.fields += [("Location", "/login"), SessionCookie(head).end]
        return answer
    }

    /// The session of a request; without a valid one, requests without a token may be permitted.
    private func visitor(_ head: RequestHead, _ access: PageAccess) async throws -> PageAccess.Visitor {
        guard let token = SessionCookie(head).token(in: head) else {
            return try await access.visitor(head, session: nil)
        }
        do {
            return try await access.visitor(head, session: token)
        } catch let problem as Problem where problem.code == Problem.Code.badToken.rawValue {
            // `try?`: if there is no caller without a token either, what is wrong with the token is worth telling.
            guard let other = try? await access.visitor(head, session: nil) else { throw problem }
            return other
        }
    }

    // MARK: - Views

    private func view(_ route: PageRoute, _ head: RequestHead, _ access: PageAccess) async -> HTTPAnswer {
        await answer(head, access) { visitor, frame in
            if let operation = route.operation { try access.checkRight(to: operation, of: visitor) }
            let reader = try await self.reader(head, access, visitor, route)
            let content = try await reader.content(of: route)
            return finished(frame.document(content), content.status)
        }
    }

    /// Reads for a visitor; with what the coordinator does with files, where the view tells of it.
    private func reader(
        _ head: RequestHead,
        _ access: PageAccess,
        _ visitor: PageAccess.Visitor,
        _ route: PageRoute,
        _ form: PageQuery? = nil
    ) async throws -> PageReader {
        var reader = PageReader(visitor.ledger, visitor.rights, form ?? PageQuery(head))
        switch route {
        case .job, .submit, .excerpts:
            let offer = try await access.run("getFileOffer", for: visitor)?.members ?? [:]
            func roots(_ name: String) -> Set<String> { Set(offer[name]?.items?.compactMap(\.text) ?? []) }
            if visitor.rights.may("downloadOutput") { reader.downloads = roots("downloads") }
            if visitor.rights.may("uploadFile") { reader.uploads = roots("uploads") }
            if route == .submit, visitor.rights.may("listPlaces") {
                let found = try await access.run("listPlaces", for: visitor)?.members?["places"]?.items
                reader.listedRoots = found?.compactMap(\.text) ?? []
            }
            reader.excerptRoot = excerptRoot.flatMap { reader.downloads.contains($0) ? $0 : nil }
        default: break
        }
        return reader
    }

    /// What `run` returns for whom the session belongs to, or a page about what it throws.
    private func answer(
        _ head: RequestHead,
        _ access: PageAccess,
        _ run: (PageAccess.Visitor, PageFrame) async throws -> HTTPAnswer
    ) async -> HTTPAnswer {
        let visitor: PageAccess.Visitor
        do { visitor = try await self.visitor(head, access) } catch {
            return stranger(access.problem(error), head, access)
        }
        let frame = PageFrame(
            name: name ?? PageFrame.name(of: head),
            version: version,
            rights: visitor.rights,
            hasSession: visitor.hasSession,
            colour: colour
        )
        do {
            return try await run(visitor, frame)
        } catch let error as LedgerError where error.sqlState == "P0002" {
            // What the address names does not exist, or not any more.
            let problem = Problem(.noSuchThing, error.detail)
            return finished(problemPage(problem, head, frame), problem.status)
        } catch {
            let problem = access.problem(error)
            return finished(problemPage(problem, head, frame), problem.status)
        }
    }

    /// What a browser gets that has shown no valid token. The form of the login keeps a draft.
    private func stranger(
        _ problem: Problem,
        _ head: RequestHead,
        _ access: PageAccess,
        _ draft: SubmissionDraft? = nil
    ) -> HTTPAnswer {
        guard problem.status == .unauthorized else {
            return finished(problemPage(problem, head, nil), problem.status)
        }
        let cookie = SessionCookie(head)
        var form: String?
        if draft != nil, !access.hasLinks {
            form = "Log in to go on with the form: what you have written is kept."
        } else if head.method == "POST" {
            // Who logs in by a link does not come back to it here. The browser still has it.
            form = "The form was not taken. Log in in another tab, then reload this page to send the form again."
        }
        let here = PageLink(head.path.first == "" ? [] : head.path, query: head.query)
        guard cookie.token(in: head) == nil else {
            let ended = "Your session has ended" + (access.hasLinks ? "." : ": its token was revoked, or has expired.")
            let said = [ended, form].compactMap(\.self).joined(separator: " ")
            var answer = unauthorized(loginPage(head, access, said: said, next: here.text, draft))
            answer.fields.append(cookie.end)
            return answer
        }
        // A browser that follows a link of another site sends no cookie. Coming from this page, it does.
        if head.field("sec-fetch-site") == "cross-site" {
            return finished(outside(head).passage(to: here), .ok)
        }
        return unauthorized(loginPage(head, access, said: form, next: here.text, draft))
    }

    // MARK: - Scripts

    /// What an operation of the API answers, for the script of a page. It needs no page about what does not work.
    private func answer(of operation: String, _ head: RequestHead, _ access: PageAccess) async -> HTTPAnswer {
        do {
            // Where no session is needed, a page of another site could have a browser ask, and keep connections open.
            guard ["same-origin", "none", nil].contains(head.field("sec-fetch-site")) else {
                throw Problem(.foreignOrigin)
            }
            var answer = try await access.answer(of: operation, for: try await visitor(head, access), head)
            answer.fields += [("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")]
            return answer
        } catch {
            return access.problem(error).answer
        }
    }

    // MARK: - Files

    /// An output of a job, which a browser stores and never shows as a page of this coordinator.
    private func file(
        _ output: String,
        of job: String,
        _ head: RequestHead,
        _ access: PageAccess
    ) async -> HTTPAnswer {
        await answer(head, access) { visitor, _ in
            let path = ["job": job, "output": output]
            var answer = try await access.answer(of: "downloadOutput", for: visitor, head, path: path)
            answer.fields += [
                ("Content-Security-Policy", "default-src 'none'; sandbox"), ("X-Content-Type-Options", "nosniff"),
                ("Cross-Origin-Resource-Policy", "same-origin"),
            ]
            return answer
        }
    }

    /// Takes a file from the script of a page, as the API takes it from programs.
    private func upload(_ path: String, to root: String, _ head: RequestHead, _ access: PageAccess) -> Reception {
        .stream { body in
            do {
                try access.checkOrigin(head)
                guard head.field("content-length") != nil else { throw Problem(.lengthRequired) }
                let visitor = try await self.visitor(head, access)
                let place = ["root": root, "path": path]
                var answer = try await access.answer(of: "uploadFile", for: visitor, head, path: place, reading: body)
                answer.fields.append(("Cache-Control", "no-store"))
                return answer
            } catch {
                return access.problem(error).answer
            }
        }
    }

    // MARK: - Answers

    private func loginPage(
        _ head: RequestHead,
        _ access: PageAccess,
        said: String? = nil,
        next: String? = nil,
        _ draft: SubmissionDraft? = nil
    ) -> HTML {
        let view = LoginView(said: said, next: PageTarget(next).text, draft: draft, hasLinks: access.hasLinks)
        return outside(head).document(view.content)
    }

    private func problemPage(_ problem: Problem, _ head: RequestHead, _ frame: PageFrame?) -> HTML {
        (frame ?? outside(head)).document(ProblemView(problem: problem).content)
    }

    private func outside(_ head: RequestHead) -> PageFrame {
        .outside(name: name ?? PageFrame.name(of: head), version: version, colour: colour)
    }

    private func unauthorized(_ page: HTML) -> HTTPAnswer {
        var answer = finished(page, .unauthorized)
        answer.fields.append(("WWW-Authenticate", "Bearer realm=\"sluice\""))
        return answer
    }

    /// If a text were not escaped, a browser would still run nothing of it, load nothing for it and send nothing away.
    static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
        + "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

    private func finished(_ page: HTML?, _ status: HTTPStatus) -> HTTPAnswer {
        HTTPAnswer(
            status,
            fields: [
                ("Content-Type", "text/html; charset=utf-8"), ("Content-Security-Policy", Self.policy),
                ("X-Content-Type-Options", "nosniff"),
                // With "no-referrer", browsers would not say which page has sent a form.
                ("Referrer-Policy", "same-origin"), ("Cross-Origin-Opener-Policy", "same-origin"),
                ("Cross-Origin-Resource-Policy", "same-origin"),
                // Nothing of it is left in a browser when its user has logged out.
                ("Cache-Control", "no-store"),
            ],
            body: .bytes(Array((page?.text ?? "").utf8))
        )
    }
}
