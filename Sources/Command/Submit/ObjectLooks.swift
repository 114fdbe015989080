import Dispatch
import ObjectStorage
import Storage
import Synchronization
import System

/// Asks stores for many objects, several at a time: an answer takes longer than a question.
enum ObjectLooks {
    /// Why an object could not be looked at.
    struct Problem: Error {
        let bucket: SourceBucket
        let error: any Error
    }

    typealias Answer = Result<SourceBucket.Look, Problem>

    private static let width = 32
    private static let threads = BlockingThreads("objects")
    /// After this number of denied questions, a bucket that has answered none is not asked again.
    private static let mostDenials = 100

    private struct State {
        var next = 0
        var done = 0
        var answers: [Answer?]
        /// The buckets to which no further questions are sent, and why.
        var problems: [String: Problem] = [:]
        /// The buckets that have answered a question.
        var answered: Set<String> = []
        /// How many questions each bucket has denied.
        var denials: [String: Int] = [:]
    }

    /// The answers for the locations from 0, in their order. Each is in one of the buckets of `roots`. Tells `onTick` ten times a
    /// second how many there are.
    static func run(
        _ count: Int,
        at location: @escaping @Sendable (Int) -> Location,
        _ roots: PathRoots,
        onTick: (Int) -> Void
    ) -> [Answer] {
        let state = Shared(State(answers: [Answer?](repeating: nil, count: count)))
        let group = DispatchGroup()
        for _ in 0..<min(width, count) {
            group.enter()
            threads.run {
                while let place = state.take(count) { state.put(look(at: location(place), roots, state), place) }
                group.leave()
            }
        }
        while group.wait(timeout: .now() + .milliseconds(100)) == .timedOut { onTick(state.done) }
        return state.answers
    }

    private static func look(at location: Location, _ roots: PathRoots, _ state: Shared) -> Answer {
        guard let bucket = roots.bucket(named: location.root) else { return .success(.object(nil)) }
        if let problem = state.problem(in: bucket.name) { return .failure(problem) }
        do {
            let look = try bucket.look(at: location.path)
            state.noteAnswer(bucket.name)
            return .success(look)
        } catch {
            let problem = Problem(bucket: bucket, error: error)
            if let error = error as? StoreError { state.note(problem, isDenial: error.kind == .accessDenied) }
            return .failure(problem)
        }
    }

    /// The state that all threads share.
    private final class Shared: Sendable {
        private let state: Mutex<State>

        init(_ state: State) { self.state = Mutex(state) }

        var done: Int { state.withLock { $0.done } }
        /// Once all threads have ended.
        var answers: [Answer] { state.withLock { $0.answers.compactMap(\.self) } }

        func take(_ count: Int) -> Int? {
            state.withLock { state in
                guard state.next < count else { return nil }
                defer { state.next += 1 }
                return state.next
            }
        }

        func put(_ answer: Answer, _ place: Int) {
            state.withLock { state in
                state.answers[place] = answer
                state.done += 1
            }
        }

        func problem(in bucket: String) -> Problem? { state.withLock { $0.problems[bucket] } }

        func noteAnswer(_ bucket: String) { state.withLock { _ = $0.answered.insert(bucket) } }

        /// A denied object in a bucket that the user names ends the command. In other buckets, the user may read other objects.
        func note(_ problem: Problem, isDenial: Bool) {
            let name = problem.bucket.name
            state.withLock { state in
                if isDenial, !problem.bucket.isNamed {
                    let count = state.denials[name, default: 0] + 1
                    state.denials[name] = count
                    guard !state.answered.contains(name), count >= ObjectLooks.mostDenials else { return }
                }
                state.problems[name] = state.problems[name] ?? problem
            }
        }
    }
}
