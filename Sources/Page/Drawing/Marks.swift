import API
import Conversion
import Ledger

/// A state: a shape and a word, always both.
enum Mark {
    static func state(_ job: JobSummary) -> HTML {
        if job.isToBeCancelled { return "<span class=\"s running\">stopping</span>" }
        // A job that a worker has claimed ahead waits for a room. Tenants do not see slots, but they see frames.
        if job.state == .running, job.slot == nil, job.frames == nil {
            return "<span class=\"s waiting\">claimed</span>"
        }
        return of(job.state)
    }

    static func of(_ state: JobState) -> HTML { "<span class=\"s \(shape(state))\">\(state.rawValue)</span>" }

    /// The shape of a state, by the name of its class.
    static func shape(_ state: JobState) -> String {
        // A failure that a person has accepted needs no attention any more.
        state == .accepted ? JobState.skipped.rawValue : state.rawValue
    }

    static func of(_ phase: BulkChange.Phase) -> HTML {
        let shape: HTML =
            switch phase {
            case .running, .undoing: "running"
            case .done: "completed"
            case .stopped: "skipped"
            case .failed: "failed"
            case .undone: "cancelled"
            }
        return "<span class=\"s \(shape)\">\(phase.rawValue)</span>"
    }

    static func of(_ state: WorkerState) -> HTML {
        let shape: HTML =
            switch state {
            case .works: "completed"
            case .partly: "note"
            case .paused: "paused"
            case .quiet: "waiting"
            case .draining, .stopped: "skipped"
            case .unheard, .lost: "failed"
            }
        return "<span class=\"s \(shape)\">\(state.rawValue)</span>"
    }
}

/// The location of a file: its folder softly and its name in ink, each cut at its own end.
enum LocationText {
    /// How much of a location a list has, and how much its tooltip.
    private static let (listed, whole) = (160, 600)

    /// For a cell of the class `src`.
    static func cell(_ location: String, _ link: PageLink) -> HTML {
        // A short one is never cut.
        let title: HTML = location.utf8.count > 36 ? " title=\"\(location.cutInside(to: whole))\"" : ""
        return "<a href=\"\(link)\"\(title)>\(parts(location))</a>"
    }

    static func parts(_ location: String) -> HTML {
        let location = location.cutInside(to: listed)
        guard let place = location.lastIndex(where: { $0 == "/" || $0 == ":" }),
            location.index(after: place) < location.endIndex
        else { return "<bdi>\(location)</bdi>" }
        let name = String(location[location.index(after: place)...])
        return "<span class=\"dir\">\(String(location[...place]))</span><bdi>\(name)</bdi>"
    }

    /// The name without its folder.
    static func name(_ location: String) -> String {
        guard let place = location.lastIndex(where: { $0 == "/" || $0 == ":" }),
            location.index(after: place) < location.endIndex
        else { return location.cutInside(to: listed) }
        return String(location[location.index(after: place)...]).cutInside(to: listed)
    }
}
