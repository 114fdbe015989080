import API
import Console
import Conversion
import FoundationEssentials
import Ledger

/// A table of jobs. Columns without content are left out.
struct JobTable {
    let jobs: [JobSummary]
    /// The ledger's time.
    let now: Date
    /// Whether to show the state: there is no need if the user asked for a single one.
    let showsState: Bool
    var showsRemarks = false
    /// Whether to keep columns that are empty for these jobs, so that all pages of a list have the same columns.
    var isPage = false
    /// If set, sources below the current folder are shown by their paths.
    var places: LocalPlaces?

    func lines(for outlet: Outlet, headed: Bool = true) -> [String] { table.lines(for: outlet, headed: headed) }

    var table: TextTable {
        let hasCodes = isPage && !showsRemarks || jobs.contains { $0.code != nil }
        let hasRetries = jobs.contains { $0.retriedBy != nil }
        let hasAcceptances = jobs.contains { $0.acceptedBy != nil }
        let hasProgress = jobs.contains { $0.state == .running }
        var columns: [TextTable.Column] = [.init(title: "ID", isNumber: true)]
        if showsState { columns.append(.init(title: "STATE")) }
        columns.append(.init(title: "SOURCE", isElastic: true, keepsEnd: true))
        if showsRemarks { columns.append(.init(title: "WARNINGS", isElastic: true)) }
        if hasCodes { columns.append(.init(title: "CODE")) }
        if hasProgress { columns.append(.init(title: "DONE", isNumber: true)) }
        columns += [
            .init(title: "ATTEMPTS", isNumber: true, mayGo: true), .init(title: "WHEN", mayGo: true),
            .init(title: "WORKER", mayGo: true),
        ]
        if hasRetries { columns.append(.init(title: "RETRIED BY", mayGo: true)) }
        if hasAcceptances { columns.append(.init(title: "ACCEPTED BY", mayGo: true)) }
        var table = TextTable(columns)
        for job in jobs {
            var cells = [TextTable.Cell("\(job.job)")]
            if showsState { cells.append(.init(job.stateWord, job.state.ink)) }
            cells.append(.init(places?.name(of: job.source) ?? job.source))
            if showsRemarks { cells.append(.init(job.remarks?.brief ?? "")) }
            if hasCodes { cells.append(.init(job.code ?? "")) }
            if hasProgress { cells.append(.init(job.percent ?? "")) }
            let when = job.readyAt.map { TimeWords.ahead($0, at: now) } ?? TimeWords.ago(job.since, at: now)
            cells += [.init("\(job.attempts)"), .init(when), .init(job.place ?? "")]
            if hasRetries { cells.append(.init(job.retriedBy ?? "")) }
            if hasAcceptances { cells.append(.init(job.acceptedBy ?? "")) }
            table.add(cells)
        }
        return table
    }
}

extension JobState {
    var ink: Ink? {
        switch self {
        case .completed: .good
        case .failed: .bad
        case .skipped, .accepted, .cancelled: .faint
        case .delayed: .careful
        case .waiting, .running, .publishing: nil
        }
    }
}

extension JobSummary {
    /// Progress from 0 to 1; `nil` unless the job is running and both counts are known.
    var share: Double? {
        guard state == .running, let frames, let totalFrames, totalFrames > 0 else { return nil }
        return min(1, Double(frames) / Double(totalFrames))
    }

    var percent: String? { share.map { "\(Int($0 * 100))%" } }

    /// `pump-2/3`: worker and slot.
    var place: String? { worker.map { name in slot.map { "\(name)/\($0)" } ?? name } }

    /// The state in words for people, who want to know whether a room works at the job.
    var stateWord: String {
        if isToBeCancelled { return "stopping" }
        return state == .running && slot == nil ? "claimed" : state.rawValue
    }
}
