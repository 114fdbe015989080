import Conversion
import Foundation
import Storage

/// Runs `body` in `count` threads at once and waits for all. A thread pool could run the work sequentially;
/// threads do not.
func inThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let ready = DispatchSemaphore(value: 0)
    let start = DispatchSemaphore(value: 0)
    let ended = DispatchGroup()
    for number in 0..<count {
        ended.enter()
        Thread.detachNewThread {
            ready.signal()
            start.wait()
            body(number)
            ended.leave()
        }
    }
    for _ in 0..<count { ready.wait() }
    for _ in 0..<count { start.signal() }
    ended.wait()
}

/// Counts the results of several threads.
final class Outcomes: @unchecked Sendable {
    // Every access holds the lock.
    private let lock = NSLock()
    private var noted: [String: Int] = [:]

    var counts: [String: Int] { lock.withLock { noted } }

    subscript(word: String) -> Int { counts[word, default: 0] }

    func note(_ body: () throws -> String) {
        let word: String
        do {
            word = try body()
        } catch let error as StorageError {
            word = error.code.rawValue
        } catch {
            word = "\(error)"
        }
        lock.withLock { noted[word, default: 0] += 1 }
    }
}
