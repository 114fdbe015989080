import Conversion
import Console
import Ledger
import Storage

/// What a tenant may submit. A dry run checks it as the coordinator and the ledger would, in their words.
struct SubmitRules: Sendable {
    let tenant: String
    let limits: TenantLimits

    func check(_ plan: SubmitPlan, _ survey: SubmitSurvey, _ invocation: Invocation) throws(Refusal) {
        try checkDestinations(plan)
        let (priority, attempts) = (invocation[SubmitOptions.priority], invocation[SubmitOptions.maxAttempts])
        if let most = limits.topPriority, priority > most {
            throw refusal("may use priorities up to \(most), not \(priority)")
        }
        for choice in survey.chosen {
            let recipe = plan.recipe(plan.items[choice.place])
            try checkPlaces(recipe.sources.map(\.location), limits.reads)
            try checkPlaces(recipe.outputs.map(\.location), limits.writes)
            if let most = limits.maxOutputs, recipe.outputs.count > most {
                throw refusal(
                    "may make \(most) outputs in a job, not \(recipe.outputs.count)",
                    hint: "submit further jobs, or ask an operator for another limit"
                )
            }
        }
        if let most = limits.maxAttempts, let attempts, attempts > most {
            throw refusal("may ask for \(most) attempts, not \(attempts)")
        }
    }

    /// Other jobs may end or be submitted before the real run.
    func check(more: Int, waiting: Int) throws(Refusal) {
        guard let most = limits.waitingJobs, waiting + more > most else { return }
        throw Refusal(
            message: "the tenant \(tenant) may have \(most) waiting jobs: \(waiting) wait, and this adds \(more)",
            hint: "wait until some have started, or cancel some",
            exitCode: ExitCode(.ledgerQuotaExceeded)
        )
    }

    private func checkDestinations(_ plan: SubmitPlan) throws(Refusal) {
        guard let text = limits.destination else { return }
        let folder: String
        do throws(StorageError) { folder = try TenantDestination(text).folder(of: tenant) } catch {
            throw refusal("has destinations by a template that cannot be used: \(error.detail)")
        }
        for place in plan.items.flatMap(\.destinations) where !place.description.utf8.starts(with: folder.utf8) {
            throw Refusal(
                message: "\(place) must begin with \(folder), where this tenant's outputs go".printable,
                hint: "without --to, the outputs go where the tenant's template says",
                exitCode: ExitCode(.ledgerRefused)
            )
        }
    }

    private func checkPlaces(_ places: [String], _ allowed: [String]?) throws(Refusal) {
        guard let allowed else { return }
        for place in places where !allowed.contains(where: { place.utf8.starts(with: $0.utf8) }) {
            throw refusal("may not use the location \"\(place)\"", hint: "ask an operator where it may read and write")
        }
    }

    private func refusal(_ what: String, hint: String = "ask an operator for another limit") -> Refusal {
        Refusal(
            message: "the tenant \(tenant) \(what)".printable,
            hint: hint,
            exitCode: ExitCode(.ledgerPermissionDenied)
        )
    }
}
