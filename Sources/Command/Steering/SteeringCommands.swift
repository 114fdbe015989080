import Console
import Conversion
import Ledger

/// `sluice retry`: puts failed jobs back into the queue.
enum RetryCommand {
    /// Not the option of `convert`: if it is absent, each job keeps its own policy.
    private static let onDamage = Option<DamageMode>(
        "on-damage",
        .choice("MODE") { $0.summary },
        "change how the jobs treat damage in their sources",
        in: .work
    )
    private static let concealLimit = Option<Int>(
        "conceal-limit",
        .whole(in: Recipe.Limits.concealChoices),
        "seconds of silence that conceal may add; needs --on-damage conceal",
        in: .work
    )

    static let value: Subcommand = Subcommand(
        name: "retry",
        summary: "put failed jobs back into the queue",
        discussion: [
            "Options select failed jobs; --state cancelled selects cancelled ones, --state accepted those whose failure "
                + "was accepted, and --state delayed starts delayed retries at once. The jobs get a fresh set of "
                + "attempts. The record of earlier attempts stays.",
            "A job whose worker died while publishing is handed at once to the next worker or coordinator that "
                + "has its root; without retry this takes a minute.",
            "--on-damage changes how the recipes treat damage; \"sluice job\" also shows the earlier setting.",
        ],
        arguments: [Steering.identifiers(in: [.failed, .accepted, .cancelled, .delayed, .publishing])],
        options: Steering.forms + [onDamage.form, concealLimit.form],
        examples: [
            Example(line: "sluice retry --code truncated --dry-run", purpose: "count the jobs to retry"),
            Example(
                line: "sluice retry --code corrupt_stream --on-damage conceal",
                purpose: "fill the damage with silence"
            ),
            Example(line: "sluice retry --batch 17 --yes", purpose: "failed jobs of a batch, unasked"),
            Example(line: "sluice retry 10442 10981", purpose: "two jobs"),
        ],
        run: { invocation, console in
            let (mode, limit) = (invocation[onDamage], invocation[concealLimit])
            guard limit == nil || mode == .conceal else { throw SourceOptions.concealLimitAlone }
            let change = mode.map { JobChange.retryWithDamage($0, concealSeconds: limit) } ?? .retry
            return try Steering(verb: "retry", change: change, usualStates: [.failed]).run(invocation, console)
        }
    )
}

/// `sluice cancel`: ends jobs that have not ended.
enum CancelCommand {
    static let value: Subcommand = Subcommand(
        name: "cancel",
        summary: "cancel waiting jobs and stop running ones",
        discussion: [
            "Waiting jobs end at once. Workers stop running jobs and leave no output. Jobs that are already "
                + "publishing are completed; the command reports how many."
        ],
        arguments: [Steering.identifiers(in: JobState.open)],
        options: Steering.forms,
        examples: [
            Example(line: "sluice cancel --batch 17", purpose: "what is left of a batch"),
            Example(line: "sluice cancel 10442 --yes", purpose: "one job, without a question"),
        ],
        run: { invocation, console in
            try Steering(verb: "cancel", change: .cancel).run(invocation, console)
        }
    )
}

/// `sluice prioritize`: moves waiting jobs before or behind others.
enum PrioritizeCommand {
    private static let priority = Argument(
        name: "N",
        summary: "the priority, -100 to 100; higher goes first, the default is 0",
        completion: .nothing
    )

    static let value: Subcommand = Subcommand(
        name: "prioritize",
        summary: "change the priority of waiting jobs",
        arguments: [priority, Steering.identifiers(in: [.waiting, .delayed])],
        options: Steering.forms,
        examples: [
            Example(line: "sluice prioritize 10 --batch 17", purpose: "run a batch before others"),
            Example(line: "sluice prioritize -5 10442 --yes", purpose: "run a job after others"),
        ],
        run: { invocation, console in
            let word = invocation.word(priority)
            guard let number = Int32(word), LedgerRules.priorities.contains(Int(number)) else {
                throw UsageError("N \(word): must be a whole number from -100 to 100")
            }
            return try Steering(verb: "prioritize", change: .prioritize(number)).run(invocation, console)
        }
    )
}

/// `sluice accept`: accepts failures, so that known ones no longer decide how a run ends.
enum AcceptCommand {
    private static let undo = Switch("undo", "count accepted jobs as failed ones again", in: .work)

    static let value: Subcommand = Subcommand(
        name: "accept",
        summary: "accept failures, so that they no longer decide exit codes",
        discussion: [
            "Accepted jobs count apart from failed ones. \"sluice wait\" and \"sluice submit --wait\" do not fail for "
                + "them, and \"sluice submit\" leaves their sources out without a warning until they change.",
            "--undo takes that back, and so does \"sluice changes undo\" for what a program has accepted over HTTP. A "
                + "retry of an accepted job ends the acceptance too.",
        ],
        arguments: [Steering.identifiers(in: [.failed, .accepted])],
        options: Steering.forms + [undo.form],
        examples: [
            Example(line: "sluice accept --batch last --dry-run", purpose: "count what would be accepted"),
            Example(line: "sluice accept --source in:2019/ --yes", purpose: "sources known to be bad"),
            Example(line: "sluice accept --code truncated --batch 17", purpose: "one kind of failure"),
            Example(line: "sluice accept 10442 --undo --yes", purpose: "take one back"),
        ],
        run: { invocation, console in
            try Steering(verb: "accept", change: .accept(undo: invocation[undo])).run(invocation, console)
        }
    )
}
