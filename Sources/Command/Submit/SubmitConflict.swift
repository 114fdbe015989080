import Console
import Conversion

/// What `submit` does if a destination already holds something other than the recorded output of an earlier job.
enum SubmitConflict: String, Sendable, CaseIterable {
    case fail, replace, skip, missing, newer

    var summary: String {
        switch self {
        case .fail: "fail and submit nothing"
        case .replace: "replace the existing files"
        case .skip: "submit jobs that leave existing files alone"
        case .missing: "submit only files whose output does not exist"
        case .newer: "as missing, and files newer than their output"
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
        "what to do if a destination exists that no earlier job for the source made",
        environment: "SLUICE_ON_CONFLICT",
        in: .destination
    )
}

/// What `submit` does about outputs that have changed since an earlier job for the same work wrote them.
enum SubmitAltered: String, Sendable, CaseIterable {
    case skip, replace, fail

    var summary: String {
        switch self {
        case .skip: "name them, and leave them alone"
        case .replace: "make them again"
        case .fail: "fail and submit nothing"
        }
    }

    static let option = Option<SubmitAltered>(
        "on-altered",
        .choice("WHAT") { $0.summary },
        "what to do about changed outputs (default: skip, or as --on-conflict says)",
        environment: "SLUICE_ON_ALTERED",
        in: .destination
    )
}
