import API
import Console
import Conversion
import FoundationEssentials
import Ledger
import Storage

/// `sluice tenants`: lists tenants, creates and limits them.
enum TenantsCommand {
    private static let name = Argument(name: "NAME", summary: "the tenant's name", completion: .nothing)
    private static let waitingJobs = Option<Ceiling>(
        "waiting-jobs",
        .ceiling(0...1_000_000_000_000),
        "jobs that may wait or be delayed at once; none removes the limit",
        in: .work
    )
    private static let topPriority = Option<Ceiling>(
        "top-priority",
        .ceiling(-32_768...32_767),
        "highest priority of its batches; none removes the limit",
        in: .work
    )
    private static let maxAttempts = Option<Ceiling>(
        "max-attempts",
        .ceiling(Int64(LedgerRules.attempts.lowerBound)...Int64(LedgerRules.attempts.upperBound)),
        "most attempts that its jobs may ask for; none removes the limit",
        in: .work
    )
    private static let reads = Option<String>(
        "reads",
        .text.named("PLACE"),
        "a root or folder from which it may read, as archive: or in:radio/; any for all",
        isRepeatable: true,
        in: .work
    )
    private static let writes = Option<String>(
        "writes",
        .text.named("PLACE"),
        "a root or folder into which it may write, as out:radio/; any for all",
        isRepeatable: true,
        in: .work
    )

    private static let uploads = Option<SizeCeiling>(
        "upload-bytes",
        .sizeCeiling,
        "bytes that it may upload in 24 hours; none removes the limit",
        in: .work
    )
    private static let cpuMinutes = Option<Ceiling>(
        "cpu-minutes",
        .ceiling(1...1_000_000_000),
        "minutes of CPU time for its jobs in 24 hours; none: no limit",
        in: .work
    )
    private static let outputBytes = Option<SizeCeiling>(
        "output-bytes",
        .sizeCeiling,
        "bytes of outputs that its jobs may publish in 24 hours; none: no limit",
        in: .work
    )
    private static let destination = Option<String>(
        "destination",
        .text.named("TEMPLATE"),
        "a template for its outputs, of {tenant}, {dir}, {stem}, {ext}; none: no rule",
        in: .work
    )
    private static let jobTime = Option<TimeCeiling>(
        "job-time",
        .timeCeiling,
        "longest time of an attempt at one of its jobs; none: the worker's",
        in: .work
    )
    private static let jobCPU = Option<TimeCeiling>(
        "job-cpu",
        .timeCeiling,
        "most CPU time of an attempt; none: the worker's",
        in: .work
    )
    private static let jobBytes = Option<SizeCeiling>(
        "job-bytes",
        .sizeCeiling,
        "largest output; none: the worker's limit",
        in: .work
    )
    private static let jobAudio = Option<TimeCeiling>(
        "job-audio",
        .timeCeiling,
        "most audio of a job, in all outputs; none: the worker's limit",
        in: .work
    )
    private static let maxOutputs = Option<Ceiling>(
        "max-outputs",
        .ceiling(1...1_000),
        "most outputs of a job; none removes the limit",
        in: .work
    )

    static let value: Subcommand = Subcommand(
        name: "tenants",
        summary: "list tenants; create and limit them",
        discussion: [
            "A tenant sees and changes only the batches that were submitted with its tokens. "
                + "An installation without tenants does not notice them."
        ],
        options: ListOptions.databaseForms,
        examples: [Example(line: "sluice tenants", purpose: "all tenants")],
        children: [
            Subcommand(
                name: "create",
                summary: "create a tenant",
                arguments: [name],
                leavesOut: [ListOptions.json.form, ListOptions.quiet.form],
                examples: [Example(line: "sluice tenants create radio", purpose: "then create tokens for it")],
                run: create
            ),
            Subcommand(
                name: "limit",
                summary: "change what a tenant may submit and use",
                discussion: [
                    "A limit that is not named stays. --reads and --writes replace all places of that kind.",
                    "A tenant that has used up --cpu-minutes or --output-bytes may submit; its jobs wait until "
                        + "enough of the use is a day old. Jobs that run are not stopped.",
                    "By --destination a coordinator makes the destinations that the tenant does not name: of {tenant}, "
                        + "{label} (the name of the batch), {dir} and {stem} (of the source), {ext} and {preset}. Those "
                        + "that it names must be in the folder before the first field, {tenant} aside.",
                ],
                arguments: [name],
                options: [
                    waitingJobs.form, topPriority.form, maxAttempts.form, reads.form, writes.form, uploads.form,
                    cpuMinutes.form, outputBytes.form, destination.form, jobTime.form, jobCPU.form,
                    jobBytes.form, jobAudio.form, maxOutputs.form,
                ],
                examples: [
                    Example(
                        line: "sluice tenants limit radio --reads in:radio/ --writes out:radio/",
                        purpose: "folders of its own"
                    ),
                    Example(
                        line: "sluice tenants limit radio --cpu-minutes 6000 --output-bytes 500GiB",
                        purpose: "of each 24 hours"
                    ),
                    Example(
                        line: "sluice tenants limit radio --destination 'out:{tenant}/{dir}/{stem}.{ext}'",
                        purpose: "outputs in a folder of its own"
                    ),
                    Example(line: "sluice tenants limit radio --waiting-jobs none", purpose: "remove a limit"),
                ],
                run: limit
            ),
        ],
        standsAlone: true,
        run: list
    )

    @Sendable private static func list(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let (now, tenants) = try LedgerWork.runOnDatabase(invocation) { ledger in
            (try await ledger.time(), try await ledger.tenants())
        }
        try show(tenants, now, invocation, console)
        return .success
    }

    private static func show(
        _ tenants: [Tenant],
        _ now: Date,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws {
        try Listing(invocation, console).print(
            tenants.map(AdministeredTenant.init),
            ids: \.tenant.name,
            empty: "no tenants; \"sluice tenants create NAME\" creates one"
        ) { table(tenants, now).lines(for: console.data) }
    }

    private static func table(_ tenants: [Tenant], _ now: Date) -> TextTable {
        var table = TextTable([
            .init(title: "TENANT", isElastic: true), .init(title: "TOKENS", isNumber: true),
            .init(title: "MAY WAIT", isNumber: true), .init(title: "PRIORITY", isNumber: true, mayGo: true),
            .init(title: "ATTEMPTS", isNumber: true, mayGo: true), .init(title: "READS", mayGo: true),
            .init(title: "WRITES", mayGo: true), .init(title: "UPLOADS", isNumber: true, mayGo: true),
            .init(title: "DESTINATION", mayGo: true),
            .init(title: "CPU MIN", isNumber: true, mayGo: true),
            .init(title: "OUTPUTS", isNumber: true, mayGo: true), .init(title: "CONTINUES", mayGo: true),
            .init(title: "CREATED", mayGo: true),
            .init(title: "CREATED BY", mayGo: true),
        ])
        for tenant in tenants {
            table.add([
                .init(tenant.name), .init(Figures.grouped(tenant.tokens)),
                .init(tenant.limits.waitingJobs.map { Figures.grouped(Int($0)) } ?? "-"),
                .init(tenant.limits.topPriority.map { "\($0)" } ?? "-"),
                .init(tenant.limits.maxAttempts.map { "\($0)" } ?? "-"),
                .init(words(tenant.limits.reads)), .init(words(tenant.limits.writes)),
                .init(tenant.limits.uploadBytes.map { Figures.bytes($0) } ?? "-"),
                .init(tenant.limits.destination ?? "-"),
                .init(
                    used(
                        Figures.grouped(Int(tenant.usedCPU / .seconds(60))),
                        of: tenant.limits.cpuMinutes.map { Figures.grouped(Int($0)) }
                    )
                ),
                .init(
                    used(
                        Figures.bytes(tenant.usedOutputBytes),
                        of: tenant.limits.outputBytes.map { Figures.bytes($0) }
                    )
                ),
                .init(tenant.hold.map { TimeWords.ahead($0.until, at: now) } ?? "-"),
                .init(TimeWords.ago(tenant.createdAt, at: now)), .init(tenant.createdBy),
            ])
        }
        return table
    }

    /// `12 of 600`, or what was used if there is no limit.
    private static func used(_ amount: String, of limit: String?) -> String {
        limit.map { "\(amount) of \($0)" } ?? amount
    }

    private static func words(_ places: [String]?) -> String {
        guard let places else { return "any" }
        return places.isEmpty ? "none" : places.joined(separator: " ")
    }

    @Sendable private static func limit(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let name = invocation.word(name)
        let template = invocation[destination].flatMap { $0 == "none" ? nil : $0 }
        if let template {
            do throws(StorageError) { _ = try TenantDestination(template) } catch {
                throw UsageError("--destination \(template): \(error.detail)")
            }
        }
        let (now, tenants) = try LedgerWork.runOnDatabase(invocation) { ledger in
            let missing = Refusal(
                message: "no such tenant \"\(name.printable)\"",
                hint: "\"sluice tenants\" lists them",
                exitCode: .notFound
            )
            guard var limits = try await ledger.tenants().first(where: { $0.name == name })?.limits else {
                throw missing
            }
            if let ceiling = invocation[waitingJobs] { limits.waitingJobs = ceiling.most }
            if let ceiling = invocation[topPriority] { limits.topPriority = ceiling.most.map { Int32($0) } }
            if let ceiling = invocation[maxAttempts] { limits.maxAttempts = ceiling.most.map { Int32($0) } }
            if invocation[reads] != nil { limits.reads = places(invocation.all(reads)) }
            if let ceiling = invocation[uploads] { limits.uploadBytes = ceiling.most }
            if let ceiling = invocation[cpuMinutes] { limits.cpuMinutes = ceiling.most }
            if let ceiling = invocation[outputBytes] {
                guard ceiling.most != 0 else {
                    throw Refusal(message: "--output-bytes must be 1 or more, or none", exitCode: .usage)
                }
                limits.outputBytes = ceiling.most
            }
            if invocation[writes] != nil { limits.writes = places(invocation.all(writes)) }
            var jobs = limits.jobs ?? JobCeilings()
            if let ceiling = invocation[jobTime] { jobs.wallSeconds = ceiling.seconds }
            if let ceiling = invocation[jobCPU] { jobs.cpuSeconds = ceiling.seconds }
            if let ceiling = invocation[jobBytes] { jobs.outputBytes = ceiling.most }
            if let ceiling = invocation[jobAudio] { jobs.decodedSeconds = ceiling.seconds }
            limits.jobs = jobs == JobCeilings() ? nil : jobs
            if let ceiling = invocation[maxOutputs] { limits.maxOutputs = ceiling.most.map { Int32($0) } }
            if invocation[destination] != nil { limits.destination = template }
            guard try await ledger.setLimits(limits, of: name) else { throw missing }
            return (try await ledger.time(), try await ledger.tenants().filter { $0.name == name })
        }
        try show(tenants, now, invocation, console)
        return .success
    }

    /// The places that a user has named; `nil` for `any`.
    private static func places(_ words: [String]) -> [String]? { words.contains("any") ? nil : words }

    @Sendable private static func create(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        try UsageError.check(invocation.word(name), in: name, .tenantName)
        let name = invocation.word(name)
        let isNew = try LedgerWork.runOnDatabase(invocation) { try await $0.createTenant(name) }
        guard isNew else { throw Refusal(message: "there is a tenant \"\(name.printable)\" already") }
        console.say("next: sluice tokens create --role submitter --tenant \(ShellWord.quoted(name)) --name NAME")
        return .success
    }
}

/// A limit, or none.
struct Ceiling: Sendable {
    let most: Int64?
}

extension ValueType where Value == Ceiling {
    /// A whole number in the range, or `none`.
    static func ceiling(_ range: ClosedRange<Int64>) -> ValueType {
        ValueType(placeholder: "N") { text throws(Misfit) in
            if text == "none" { return Ceiling(most: nil) }
            guard let number = Int64(text), range.contains(number) else {
                throw Misfit(
                    why: "must be a whole number from \(range.lowerBound) to \(range.upperBound), or none"
                )
            }
            return Ceiling(most: number)
        }
    }
}

/// A limit in seconds, or none.
struct TimeCeiling: Sendable {
    let seconds: Int64?
}

extension ValueType where Value == TimeCeiling {
    /// A duration of a second or more, or `none`.
    static let timeCeiling = ValueType(placeholder: "TIME") { text throws(Misfit) in
        if text == "none" { return TimeCeiling(seconds: nil) }
        let duration = try ValueType<Duration>.duration.read(text)
        guard duration >= .seconds(1) else { throw Misfit(why: "must be a second or more, or none") }
        return TimeCeiling(seconds: duration.components.seconds)
    }
}

/// A limit in bytes, or none.
struct SizeCeiling: Sendable {
    let most: Int64?
}

extension ValueType where Value == SizeCeiling {
    /// A size, or `none`.
    static let sizeCeiling = ValueType(placeholder: "SIZE") { text throws(Misfit) in
        if text == "none" { return SizeCeiling(most: nil) }
        guard let size = ByteSize(words: text) else { throw Misfit(why: "must be a size, as in 50GiB, or none") }
        return SizeCeiling(most: size.bytes)
    }
}
