/// What is at a path of the page.
enum PageRoute: Sendable, Hashable {
    case overview
    case jobs
    case job(String)
    case output(String, job: String)
    /// Where excerpts of a job are asked for.
    case excerpts(job: String)
    case batches
    case batch(String)
    case failures
    case workers
    case queues
    case changes
    /// What a change of many jobs would do.
    case preview
    case change(String)
    case webhooks
    case submit
    case tokens
    case tenants
    case audit
    case login
    case logout
    /// Events, after which a view is read again.
    case live
    case asset(String)
    /// Where a file goes that a browser sends.
    case file(String, root: String)
    /// Files and folders for those who name sources.
    case places

    /// `nil` if there is nothing at the path.
    init?(_ path: [String]) {
        if path.first == "files", path.count > 2 {
            self = .file(path.dropFirst(2).joined(separator: "/"), root: path[1])
            return
        }
        switch (path.first, path.count) {
        case ("", 1): self = .overview
        case ("jobs", 1): self = .jobs
        case ("jobs", 2): self = .job(path[1])
        case ("jobs", 3):
            guard path[2] == "excerpts" else { return nil }
            self = .excerpts(job: path[1])
        case ("jobs", 4):
            guard path[2] == "outputs" else { return nil }
            self = .output(path[3], job: path[1])
        case ("batches", 1): self = .batches
        case ("batches", 2): self = .batch(path[1])
        case ("failures", 1): self = .failures
        case ("workers", 1): self = .workers
        case ("queues", 1): self = .queues
        case ("changes", 1): self = .changes
        case ("changes", 2): self = path[1] == "preview" ? .preview : .change(path[1])
        case ("login", 1): self = .login
        case ("logout", 1): self = .logout
        case ("webhooks", 1): self = .webhooks
        case ("submit", 1): self = .submit
        case ("tokens", 1): self = .tokens
        case ("tenants", 1): self = .tenants
        case ("audit", 1): self = .audit
        case ("live", 1): self = .live
        case ("places", 1): self = .places
        case ("assets", 2): self = .asset(path[1])
        default: return nil
        }
    }

    /// The methods that it takes.
    var methods: [String] {
        switch self {
        case .overview, .output, .batches, .batch, .failures, .preview, .tokens, .tenants, .audit, .live, .asset,
            .places:
            ["GET", "HEAD"]
        case .login, .jobs, .job, .workers, .queues, .changes, .change, .webhooks, .submit: ["GET", "HEAD", "POST"]
        case .logout, .excerpts: ["POST"]
        case .file: ["PUT"]
        }
    }

    /// The operation of the API that tells what the view shows: who may not ask for it does not see the view.
    var operation: String? {
        switch self {
        case .overview: "getStatus"
        case .jobs: "listJobs"
        case .job: "getJob"
        case .output: "downloadOutput"
        case .batches: "listBatches"
        case .batch: "getBatch"
        case .failures: "listFailures"
        case .workers: "listWorkers"
        case .queues: "listQueues"
        case .changes: "listBulkChanges"
        case .preview: "beginBulkChange"
        case .change: "getBulkChange"
        case .webhooks: "listWebhooks"
        case .submit, .excerpts: "submitBatch"
        case .tokens: "listTokens"
        case .tenants: "listTenants"
        case .audit: "listAudit"
        case .file: "uploadFile"
        case .live: "listenToEvents"
        case .places: "listPlaces"
        case .login, .logout, .asset: nil
        }
    }
}
