import API
import Conversion
import FoundationEssentials
import Ledger

/// What a form has the API do, and where the browser goes then.
///
/// It only translates: what the values may be, and who may ask, is declared with the operation.
struct PageForm: Sendable {
    /// The operation of the API, with the parameters of its path and the members of its body.
    let operation: String
    private(set) var path: [String: String] = [:]
    private(set) var body: [String: JSONValue] = [:]
    /// Whether the answer must be shown, because it cannot be read again.
    private(set) var isToldOnce = false
    /// `nil`: to the bulk change that was begun.
    private let next: String?

    /// Reads the form that was sent to a page. `now` is the ledger's time.
    init(_ route: PageRoute, _ query: PageQuery, now: Date) throws(Problem) {
        switch route {
        case .queues:
            (operation, next) = ("changeQueue", PageTarget(query.text("next") ?? "/queues").text)
            if let name = query.text("pause") {
                (path, body) = (["queue": name], ["isPaused": .truth(true)])
            } else if let name = query.text("resume") {
                (path, body) = (["queue": name], ["isPaused": .truth(false)])
            } else {
                path = ["queue": query.text("queue") ?? ""]
                body["runningLimit"] = try query.whole("limit")
                body["weight"] = try query.whole("weight")
            }
        case .workers:
            (operation, next) = ("changeWorker", "/workers")
            for wish in WorkerWish.allCases {
                guard let number = query.text(wish.rawValue) else { continue }
                (path, body) = (["worker": number], ["wish": .text(wish.rawValue)])
            }
        case .job(let number):
            (operation, next) = ("changeJobs", PageLink(["jobs", number]).text)
            body = try Self.wanted(query).body(query)
            guard let job = Int64(number) else { throw Problem(.noSuchThing, "there is no job \(number)") }
            body["filter"] = .object(["id": .list([.whole(job)])])
        case .changes:
            (operation, next) = ("beginBulkChange", nil)
            body = try Self.wanted(query).body(query)
            body["filter"] = .object(try Self.filter(query, now: now).json)
        case .change(let number):
            (operation, next) = ("steerBulkChange", PageLink(["changes", number]).text)
            path = ["change": number]
            body["wish"] = query.text("wish").map { .text($0) }
        case .webhooks:
            next = "/webhooks"
            if let number = query.text("test") {
                (operation, path) = ("testWebhook", ["webhook": number])
            } else if let number = query.text("retry") {
                (operation, path) = ("retryDeliveries", ["webhook": number])
            } else if let number = query.text("remove") {
                (operation, path) = ("removeWebhook", ["webhook": number])
            } else {
                (operation, isToldOnce) = ("createWebhook", true)
                body["url"] = .text(query.text("url") ?? "")
                body["name"] = query.text("name").map { .text($0) }
                let events = query.words("event")
                if !events.isEmpty { body["events"] = .list(events.map { .text($0) }) }
                body["queue"] = query.text("queue").map { .text($0) }
                // A queue says it more closely.
                if body["queue"] == nil, query.text("own") != nil { body["own"] = .truth(true) }
            }
        case .jobs:
            if let name = query.text("remove") {
                (operation, next, path) = ("removeFilter", "/jobs", ["filter": name])
            } else {
                let list = PageTarget(query.text("next")).text
                (operation, next, path) = ("saveFilter", list, ["filter": query.text("save") ?? ""])
                // Relative times stay what they are.
                body["query"] = .text(String(list.drop { $0 != "?" }.dropFirst()))
            }
        case .overview, .output, .excerpts, .batches, .batch, .failures, .preview, .submit, .tokens, .tenants, .audit,
            .login, .logout, .live, .asset, .file, .places:
            throw Problem(.wrongMethod)
        }
    }

    /// Whether a person has written into the form, which is lost if it is refused and not shown again.
    static func isWritten(_ route: PageRoute, _ query: PageQuery) -> Bool {
        switch route {
        case .queues: query.names.isDisjoint(with: ["pause", "resume"])
        case .webhooks: query.names.isDisjoint(with: ["test", "retry", "remove"])
        default: false
        }
    }

    private static func wanted(_ query: PageQuery) throws(Problem) -> WantedChange {
        guard let wanted = query.text("change").flatMap(WantedChange.init) else {
            throw Problem(.badBody, mistakes: [.init(pointer: "change", detail: "must be a change of jobs")])
        }
        return wanted
    }

    /// The filter of a change. What the API does not know, or what is empty, must not be left out: it would change more jobs.
    static func filter(_ query: PageQuery, now: Date) throws(Problem) -> JobListQuery {
        let list = JobListQuery(query, now: now)
        let found = list.mistakes + JobListQuery.mistakes(in: query, besides: WantedChange.fields)
        var mistakes = found.map { Schema.Mistake(pointer: $0.name, detail: $0.why) }
        if list.filter.hasRemarks != nil {
            mistakes.append(.init(pointer: "remarks", detail: "does not select jobs for a change"))
        }
        guard mistakes.isEmpty else { throw Problem(.badParameter, mistakes: mistakes) }
        return list
    }

    /// Whether the answer to a change of jobs says that it has changed none.
    static func hadNoEffect(_ answer: JSONValue?) -> Bool {
        guard let members = answer?.members, members["isLowerBound"]?.truth != true else { return false }
        return members["changed"]?.whole == 0 && members["askedToStop"]?.whole == 0
    }

    /// Where the browser goes after an answer.
    func target(after answer: JSONValue?) -> String {
        next ?? PageLink.change(answer?.members?["number"]?.whole ?? 0).text
    }
}
