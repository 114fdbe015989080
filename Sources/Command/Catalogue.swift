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

    /// What most people need most of the time.
    private static let first: [Subcommand] = [
        ConvertCommand.value, ProbeCommand.value, UpCommand.value, SubmitCommand.value, StatusCommand.value,
        WatchCommand.value, ErrorsCommand.value, RetryCommand.value, DoctorCommand.value,
        HelpCommand.value(version: Version.number) { root },
    ]
    private static let conversion: [Subcommand] = [
        JoinCommand.value, MixCommand.value, SplitCommand.value, TagsCommand.value, WaveformCommand.value,
        FormatsCommand.value, PresetsCommand.value, RecipeCommand.value,
    ]
    private static let jobs: [Subcommand] = [
        WaitCommand.value, JobsCommand.value, JobCommand.value, BatchesCommand.value, ExportCommand.value,
        ReportCommand.value, CheckCommand.value, ScanCommand.value,
    ]
    private static let mending: [Subcommand] = [
        ExplainCommand.value, AcceptCommand.value, CancelCommand.value, PrioritizeCommand.value, ChangesCommand.value,
    ]
    private static let cluster: [Subcommand] = [
        WorkerCommand.value, CoordinatorCommand.value, WorkersCommand.value, QueuesCommand.value, OpenCommand.value,
        DownCommand.value, ConfigCommand.value { root }, MigrateCommand.value, MetricsCommand.value,
    ]
    private static let administration: [Subcommand] = [
        LoginsCommand.value, TokensCommand.value, TenantsCommand.value, WebhooksCommand.value, AuditCommand.value,
        CompletionCommand.value,
    ]
    private static let hidden: [Subcommand] = [
        UpCommand.supervising, CompletionCommand.answering { root },
    ]

    static let root: Subcommand = Subcommand(
        name: "sluice",
        summary: "sample-exact audio conversion, for one file or for millions",
        options: [colour.form, debug.form],
        examples: [
            Example(line: "sluice convert talk.wav talk.m4a --preset apple-m4a", purpose: "convert a file"),
            Example(line: "sluice probe talk.m4a", purpose: "show what a file contains"),
        ],
        groups: [
            Subcommand.Group("First of all", first), Subcommand.Group("Convert files", conversion),
            Subcommand.Group("Look at jobs and outputs", jobs), Subcommand.Group("Mend and change jobs", mending),
            Subcommand.Group("Run a cluster", cluster), Subcommand.Group("Administer it", administration),
            Subcommand.Group("For internal use", hidden),
        ],
        habits: .ofOtherPrograms
    )
}
