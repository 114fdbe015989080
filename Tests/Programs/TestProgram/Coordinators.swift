import Command
import Dispatch
import FoundationEssentials
import Glibc
import Synchronization

/// Runs coordinators for the tests of the HTTP API, as many as they ask for, until standard input ends. Each has its own
/// ledger, so tests stay apart although they share the process.
///
/// A line of input starts a coordinator or stops one. Each is answered by one line, in order.
enum Coordinators {
    private struct Order: Decodable {
        /// The number that the caller gives to a coordinator.
        let coordinator: Int
        /// The words after `sluice`; none stops the coordinator.
        let words: [String]?
        let environment: [String: String]?
        /// The path of its log.
        let log: String?
    }

    private struct Answer: Encodable {
        var addresses: [String]?
        /// Why it did not start, or with what it ended.
        var failure: String?
    }

    /// A coordinator that serves.
    private final class Running: Sendable {
        private let work: Task<Void, Never>
        private let log: Int32
        private let end: End

        private final class End: Sendable {
            let isOrdered = Mutex(false)
            /// With what it ended before it was stopped.
            let failure = Mutex<String?>(nil)
        }

        init(_ service: CoordinatorService, log: Int32) {
            let end = End()
            (self.end, self.log) = (end, log)
            work = Task {
                do {
                    try await service.run()
                } catch {
                    if !end.isOrdered.withLock({ $0 }) { end.failure.withLock { $0 = "\(error)" } }
                }
            }
        }

        /// Waits until it has ended. Returns with what it had ended before.
        func stop() -> String? {
            end.isOrdered.withLock { $0 = true }
            work.cancel()
            let done = DispatchSemaphore(value: 0)
            Task {
                await work.value
                done.signal()
            }
            done.wait()
            close(log)
            return end.failure.withLock { $0 }
        }
    }

    static func run(_ words: [String]) -> Never {
        guard words.isEmpty else {
            print("usage: test-program coordinators <ORDERS >ANSWERS")
            exit(64)
        }
        // As in the command: a write to a connection that has closed is an error of that write.
        signal(SIGPIPE, SIG_IGN)
        var running: [Int: Running] = [:]
        while let line = readLine() {
            let answer: Answer
            do {
                let order = try JSONDecoder().decode(Order.self, from: Data(line.utf8))
                if let words = order.words {
                    let (service, log) = try open(words, order)
                    running[order.coordinator] = Running(service, log: log)
                    answer = Answer(addresses: service.addresses)
                } else {
                    answer = Answer(failure: running.removeValue(forKey: order.coordinator)?.stop())
                }
            } catch {
                answer = Answer(failure: "\(error)")
            }
            say(answer)
        }
        exit(0)
    }

    private static func open(_ words: [String], _ order: Order) throws -> (CoordinatorService, Int32) {
        let log = Glibc.open(order.log ?? "/dev/null", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        do {
            return (try CoordinatorService.open(words, environment: order.environment ?? [:], log: log), log)
        } catch {
            close(log)
            throw error
        }
    }

    private static func say(_ answer: Answer) {
        let text: Data
        do {
            text = try JSONEncoder().encode(answer)
        } catch {
            // It holds texts only. Without this end, the test would wait for an answer.
            preconditionFailure("an answer cannot be encoded: \(error)")
        }
        let line = text + Data("\n".utf8)
        let count = line.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
        // A line is shorter than what a pipe takes at once. If the tests have ended, so does this process.
        if count != line.count { exit(1) }
    }
}
