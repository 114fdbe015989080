import Console

/// Every command of `sluice`, and the options that all commands share.
enum Catalogue {
    static let colour = SettledOption<Outlet.ColourChoice>(
        "color",
        .choice("WHEN"),
        fallback: "auto",
        "when to use colour; auto checks the terminal, NO_COLOR and FORCE_COLOR",
        in: .general
    )
    static let debug = Switch("debug", "show all details of failures", in: .general)

    static let root: Subcommand = Subcommand(
        name: "sluice",
        summary: "sample-exact audio conversion, for one file or for millions",
        options: [colour.form, debug.form],
        examples: [
            Example(line: "sluice convert talk.wav talk.m4a --preset apple-m4a", purpose: "convert a file"),
            Example(line: "sluice probe talk.m4a", purpose: "show what a file contains"),
        ],
        children: [
            ConvertCommand.value, JoinCommand.value, MixCommand.value, SplitCommand.value, ProbeCommand.value,
            FormatsCommand.value, PresetsCommand.value, RecipeCommand.value,
            SubmitCommand.value, WaitCommand.value, StatusCommand.value, JobsCommand.value, JobCommand.value,
            BatchesCommand.value, ErrorsCommand.value, ExplainCommand.value, RetryCommand.value, CancelCommand.value,
            PrioritizeCommand.value, ChangesCommand.value,
            QueuesCommand.value, WorkersCommand.value, TokensCommand.value, TenantsCommand.value, AuditCommand.value,
            WebhooksCommand.value,
            WatchCommand.value, MetricsCommand.value, ExportCommand.value, CheckCommand.value,
            WorkerCommand.value,
            CoordinatorCommand.value, UpCommand.value, DownCommand.value, DoctorCommand.value,
            MigrateCommand.value, ConfigCommand.value { root },
            UpCommand.supervising,
            HelpCommand.value(version: Version.number) { root }, CompletionCommand.value,
            CompletionCommand.answering { root },
            PumpRoomCommand.value,
        ],
        habits: .ofOtherPrograms
    )
}
