public import Conversion
import Dispatch
import Synchronization
import System

/// Roots that are opened side by side. One whose file system does not answer holds up no other, and joins them when it
/// does.
public final class OpeningRoots: Sendable {
    /// A root to open.
    public struct Place: Sendable {
        var name: String
        var path: String
        var rules: RootRules
        var withoutOpenat2: Bool

        /// `withoutOpenat2` refuses every link below the root.
        public init(name: String, path: String, rules: RootRules, withoutOpenat2: Bool = false) {
            (self.name, self.path, self.rules, self.withoutOpenat2) = (name, path, rules, withoutOpenat2)
        }
    }

    private struct State {
        var opened: [String: StorageRoot] = [:]
        var failures: [String: StorageError] = [:]
        /// Whether failures are told to `complain` and no longer to `wait`.
        var isLate = false
    }

    private let places: [Place]
    private let state = Mutex(State())
    private let threads = BlockingThreads("opening roots")
    /// Signalled for each place.
    private let answers = DispatchSemaphore(value: 0)
    private let complain: @Sendable (Failure) -> Void

    /// Begins to open them. `complain` is told of roots that do not answer in time or cannot be opened after that.
    public init(_ places: [Place], complain: @escaping @Sendable (Failure) -> Void = { _ in }) {
        (self.places, self.complain) = (places, complain)
        for place in places { threads.run { self.open(place) } }
    }

    private func open(_ place: Place) {
        var late: StorageError?
        do throws(StorageError) {
            let root = try StorageRoot.open(
                name: place.name,
                path: place.path,
                rules: place.rules,
                withoutOpenat2: place.withoutOpenat2
            )
            // The kernel may open a folder that it remembers.
            root.awaitAnswer()
            state.withLock { $0.opened[place.name] = root }
        } catch {
            late = state.withLock { state in
                state.failures[place.name] = error
                return state.isLate ? error : nil
            }
        }
        if let late { complain(late.failure) }
        answers.signal()
    }

    /// Waits until all have answered, but no longer than `limit`. Throws if one cannot be opened, so that a wrong setting
    /// shows at the start.
    public func wait(for limit: Duration = .seconds(10)) throws(StorageError) {
        try StorageRoots.check(names: places.map(\.name))
        let end = DispatchTime.now() + .milliseconds(Int(limit / .milliseconds(1)))
        for _ in places where answers.wait(timeout: end) == .timedOut { break }
        let (opened, failures) = state.withLock { state in
            state.isLate = true
            return (state.opened, state.failures)
        }
        // In their order, so that of several mistakes always the same one shows.
        for place in places { if let failure = failures[place.name] { throw failure } }
        for place in places where opened[place.name] == nil {
            complain(StorageError.silence(of: place.name, at: place.path, for: limit).failure)
        }
    }

    /// Sorted, whether they are open or not.
    public var names: [String] { places.map(\.name).sorted() }

    /// A root that is open; `nil` for others.
    public func root(_ name: String) -> StorageRoot? { state.withLock { $0.opened[name] } }

    /// Those that are open.
    public var opened: StorageRoots { state.withLock { StorageRoots(named: $0.opened) } }
}

extension StorageError {
    /// The file system of a root has not answered for so long.
    public static func silence(of name: String, at path: String, for limit: Duration) -> StorageError {
        let detail = "the file system at \(path) has not answered for \(limit.components.seconds) s"
        return StorageError(.storageUnavailable, at: .open, "use the root", detail, place: name)
    }
}
