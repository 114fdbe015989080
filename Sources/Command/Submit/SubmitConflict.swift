import Conversion

/// What `submit` does if a destination already holds something other than the recorded output of an earlier job.
enum SubmitConflict: String, Sendable, CaseIterable {
    case fail, replace, skip, missing, newer

    var summary: String {
        switch self {
        case .fail: "submit nothing and say so"
        case .replace: "put new files in their place"
        case .skip: "submit jobs that leave them alone"
        case .missing: "submit only what has no destination"
        case .newer: "the same, and what is newer than its destination"
        }
    }

    /// What a job does if its destination appears after the submission.
    var policy: Recipe.ConflictPolicy {
        switch self {
        case .fail: .fail
        case .replace: .replace
        case .skip, .missing, .newer: .skip
        }
    }

    static let option = SettledOption<SubmitConflict>(
        "on-conflict",
        .choice("WHAT") { $0.summary },
        fallback: "fail",
        "when a destination exists that is no output of an earlier job for it",
        environment: "SLUICE_ON_CONFLICT",
        in: .destination
    )
}
