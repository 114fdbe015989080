import WebClient

extension WebAnswer {
    /// How long the server wants to be left alone, in seconds or until a moment: at most 30 s. `nil` if it says nothing.
    func retryAfter(now: StoreTime) -> Duration? {
        guard let text = header("retry-after") else { return nil }
        let seconds = Int64(text) ?? StoreTime(httpDate: text).map { $0.seconds - now.seconds }
        return seconds.map { .seconds(max(0, min($0, 30))) }
    }
}
