import Dispatch
import Synchronization

/// Runs work on all cores. Measurements of memory use it because, unlike times, they are not affected by other load.
enum Parallel {
    /// Runs `body` for each element, as many at a time as there are cores, and returns results in the same order.
    ///
    /// All run to their end; then the first error, if any, is thrown.
    static func map<Element: Sendable, Answer: Sendable>(
        _ elements: [Element],
        _ body: @Sendable (Element) throws -> Answer
    ) throws -> [Answer] {
        let answers = Mutex<[Int: Result<Answer, any Error>]>([:])
        DispatchQueue.concurrentPerform(iterations: elements.count) { index in
            let answer = Result { try body(elements[index]) }
            answers.withLock { $0[index] = answer }
        }
        let all = answers.withLock { $0 }
        return try elements.indices.map { index in
            guard let answer = all[index] else { preconditionFailure("every iteration leaves its answer") }
            return try answer.get()
        }
    }
}
