/// How to show progress: the values of `--progress`.
package enum ProgressStyle: String, Sendable, CaseIterable {
    case auto, bar, plain, json, none

    var summary: String {
        switch self {
        case .auto: "a bar on a terminal, a line every ten seconds elsewhere"
        case .bar: "a bar, redrawn in place"
        case .plain: "groups of key=value lines, for programs"
        case .json: "JSON Lines, for programs"
        case .none: "nothing"
        }
    }

    package static let option = SettledOption<ProgressStyle>(
        "progress",
        .choice("STYLE") { $0.summary },
        fallback: "auto",
        "how to show progress on standard error",
        environment: "SLUICE_PROGRESS",
        in: .output
    )
}
