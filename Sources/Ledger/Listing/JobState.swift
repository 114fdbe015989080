/// Where a job stands.
public enum JobState: String, Sendable, Hashable, Codable, CaseIterable {
    /// Its time has not come: a run-at, or a pause before another try.
    case delayed
    case waiting
    case running
    /// Its output is whole and waits for its name.
    case publishing
    case completed
    /// Something else is where its output was to be, and stays there, as its recipe wishes.
    case skipped
    case failed
    case cancelled

    /// Those in which something will still happen to a job.
    public static let open: [JobState] = [.delayed, .waiting, .running, .publishing]

    /// Whether nothing more happens to it, unless it is retried.
    public var isEnd: Bool { !Self.open.contains(self) }
}
