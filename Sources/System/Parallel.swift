import Dispatch
import Glibc
import Synchronization

/// Runs the same function for many indices, by default on one thread per processor.
package enum Parallel {
    package static var width: Int { max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }

    /// The results of `body` for the indices from 0, in order. A thread takes `grain` of them at a time.
    package static func map<Value: Sendable>(
        _ count: Int,
        grain: Int = 1_000,
        width: Int = Parallel.width,
        _ body: @Sendable (Int) -> Value
    ) -> [Value] {
        let pieces = (count + grain - 1) / grain
        guard width > 1, pieces > 1 else { return (0..<count).map(body) }
        let next = Mutex(0)
        let found = Mutex([[Value]?](repeating: nil, count: pieces))
        DispatchQueue.concurrentPerform(iterations: min(width, pieces)) { _ in
            while true {
                let piece = next.withLock { next in
                    defer { next += 1 }
                    return next
                }
                guard piece < pieces else { return }
                let values = (piece * grain..<min(count, (piece + 1) * grain)).map(body)
                found.withLock { $0[piece] = values }
            }
        }
        return found.withLock { $0.flatMap { $0! } }
    }
}
