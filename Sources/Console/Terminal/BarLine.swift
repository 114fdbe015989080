import Synchronization

/// The last line of a terminal, on which a progress bar may stand. Erases the bar before anything else is written,
/// so that a bar and a message never share a line.
final class BarLine: Sendable {
    private let isDrawn = Mutex(false)
    private static let erase = "\r\u{1B}[K"

    /// Draws `bar` in place of the one that stands there.
    func draw(_ bar: String, _ write: (String) throws(Outlet.Failure) -> Void) throws(Outlet.Failure) {
        try locked { isDrawn throws(Outlet.Failure) in
            isDrawn = true
            try write(Self.erase + bar)
        }
    }

    /// Writes `text` behind whatever was written before; erases a bar first.
    func write(_ text: String, _ write: (String) throws(Outlet.Failure) -> Void) throws(Outlet.Failure) {
        try locked { isDrawn throws(Outlet.Failure) in
            let erasure = isDrawn ? Self.erase : ""
            isDrawn = false
            if !erasure.isEmpty || !text.isEmpty { try write(erasure + text) }
        }
    }

    /// Two threads write: the one that works and the one that shows the bar.
    private func locked(_ body: (inout Bool) throws(Outlet.Failure) -> Void) throws(Outlet.Failure) {
        let result = isDrawn.withLock { isDrawn -> Result<Void, Outlet.Failure> in
            do throws(Outlet.Failure) {
                return .success(try body(&isDrawn))
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }
}
