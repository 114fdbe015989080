import Conversion
import Ledger

/// `sluice retry`: puts failed jobs back into the queue.
enum RetryCommand {
    /// Not the option of `convert`: if it is absent, each job keeps its own policy.
    private static let onDamage = Option<DamageMode>(
        "on-damage",
        .choice("MODE") { $0.summary },
        "meet damage in that way from now on",
        in: .work
    )
    private static let concealLimit = Option<Int>(
        "conceal-limit",
        .whole(in: SourceOptions.concealLimits),
        "with --on-damage conceal: the seconds of silence that it may add",
        in: .work
    )

    static let value = Subcommand(
        name: "retry",
        summary: "put failed jobs back into line, with all their attempts before them",
        discussion: [
            "Chosen by options, jobs that failed are meant; --state cancelled means those that were cancelled, and --state "
                + "delayed lets those go at once that wait to try again. The record of earlier attempts stays.",
            "A job that stays in publishing, because its worker died between two steps, is handed at once to the next worker or "
                + "coordinator that has its root; otherwise that takes a minute.",
            "--on-damage changes how their recipes meet damage; \"sluice job\" goes on telling how it was before.",
        ],
        arguments: [Steering.identifiers(in: [.failed, .cancelled, .delayed, .publishing])],
        options: Steering.forms + [onDamage.form, concealLimit.form],
        examples: [
            Example(line: "sluice retry --code truncated --dry-run", purpose: "how many would it be"),
            Example(
                line: "sluice retry --code corrupt_stream --on-damage conceal",
                purpose: "with silence where sound is missing"
            ),
            Example(line: "sluice retry --batch 17 --yes", purpose: "what failed of a batch, unasked"),
            Example(line: "sluice retry 10442 10981", purpose: "these two"),
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
    static let value = Subcommand(
        name: "cancel",
        summary: "end jobs that wait, and stop those that run",
        discussion: [
            "Jobs that wait end at once. Workers are asked to stop those that run, and leave no output behind; what is being "
                + "published is completed, and the command says how many that are."
        ],
        arguments: [Steering.identifiers(in: JobState.open)],
        options: Steering.forms,
        examples: [
            Example(line: "sluice cancel --batch 17", purpose: "the rest of a batch"),
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
        summary: "from -100 to 100; higher goes first, 0 is usual",
        completion: .nothing
    )

    static let value = Subcommand(
        name: "prioritize",
        summary: "let jobs that wait go before others, or behind them",
        arguments: [priority, Steering.identifiers(in: [.waiting, .delayed])],
        options: Steering.forms,
        examples: [
            Example(line: "sluice prioritize 10 --batch 17", purpose: "a batch before all others"),
            Example(line: "sluice prioritize -5 10442 --yes", purpose: "one job behind them"),
        ],
        run: { invocation, console in
            let word = invocation.word(priority)
            guard let number = Int32(word), (-100...100).contains(number) else {
                throw UsageError("N \(word): has to be a whole number from -100 to 100")
            }
            return try Steering(verb: "prioritize", change: .prioritize(number)).run(invocation, console)
        }
    )
}
