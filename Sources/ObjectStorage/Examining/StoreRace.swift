import Dispatch
import Synchronization
import System

/// Races of writes to one key of which a store should let one win, to find out whether it does.
struct StoreRace {
    let client: StoreClient
    /// A key that no other program uses. Further keys begin with it.
    let key: String

    /// What the races have shown.
    enum Finding: Sendable, Hashable {
        /// In every round, at most one writer won, and a later one was refused.
        case holds
        /// The store ignores the condition, also without a race.
        case ignored
        /// In this number of rounds, several writers won.
        case several(rounds: Int)
    }

    static let rounds = 5
    static let putters = 4
    static let completers = 3

    /// Has four writers put an object that must not exist, in five rounds.
    func puts() throws(StoreError) -> Finding {
        try race(Self.putters) { (round) throws(StoreError) in
            let key = "\(key)-put-\(round)"
            return (
                key,
                { (number) throws(StoreError) in
                    _ = try client.put(.bytes([UInt8(number)]), as: key, condition: .absent, attempts: 1)
                }
            )
        }
    }

    /// Has three uploads be completed to a key that must not exist, in five rounds.
    func completes() throws(StoreError) -> Finding {
        var begun: [(key: String, id: String)] = []
        let prepare: (Int) throws(StoreError) -> (String, Write) = { (round) throws(StoreError) in
            let key = "\(key)-complete-\(round)"
            // One more, for the writer that comes late.
            var uploads: [(id: String, part: UploadedPart)] = []
            for _ in 0...Self.completers {
                let id = try client.beginUpload(to: key, order: nil)
                begun.append((key, id))
                uploads.append((id, try client.send(try part(), number: 1, of: id, to: key)))
            }
            let all = uploads
            return (
                key,
                { (number) throws(StoreError) in
                    let (id, part) = all[number]
                    _ = try client.complete(id, of: [part], to: key, condition: .absent, attempts: 1)
                }
            )
        }
        var finding: Result<Finding, StoreError>
        do throws(StoreError) {
            finding = .success(try race(Self.completers, prepare))
        } catch {
            finding = .failure(error)
        }
        // Those that were completed are gone; the rest would cost money.
        for upload in begun {
            do throws(StoreError) {
                try client.abort(upload.id, to: upload.key)
            } catch {
                // The first error counts, and the other uploads are aborted all the same.
                if case .success = finding { finding = .failure(error) }
            }
        }
        return try finding.get()
    }

    private func part() throws(StoreError) -> PartFile {
        do throws(SystemError) {
            var part = try GrowingPart(in: "/tmp")
            try part.append([0])
            return try part.finished()
        } catch {
            throw StoreError(.localDisk, "examine", client.place(key), "cannot write to /tmp: \(error)")
        }
    }

    /// Has the writer of that number write.
    private typealias Write = @Sendable (Int) throws(StoreError) -> Void

    /// Why each racer did not win; `nil` for those that did.
    private final class Failures: Sendable {
        private let all = Mutex<[StoreError?]>([])
        var list: [StoreError?] { all.withLock { $0 } }
        func add(_ failure: StoreError?) { all.withLock { $0.append(failure) } }
    }

    private static func failure(_ write: Write, _ number: Int) -> StoreError? {
        do throws(StoreError) {
            try write(number)
            return nil
        } catch { return error }
    }

    /// Whether the store has looked at the condition and refused the write because of it.
    private static func isRefusal(_ error: StoreError) -> Bool { [.conditionFailed, .conflict].contains(error.kind) }

    /// Runs the rounds that `prepare` prepares. The writer behind the racers comes late.
    ///
    /// Throws if no writer wins, or if the late one fails for another reason than the condition: then nothing is shown.
    private func race(
        _ racers: Int,
        _ prepare: (Int) throws(StoreError) -> (String, Write)
    ) throws(StoreError) -> Finding {
        var (several, decided) = (0, 0)
        for round in 1...Self.rounds {
            let (key, write) = try prepare(round)
            let failures = Failures()
            let isOpen = DispatchSemaphore(value: 0)
            let threads = (0..<racers).map { number in
                SystemThread("race", stackBytes: 1 << 20) {
                    isOpen.wait()
                    failures.add(Self.failure(write, number))
                }
            }
            for _ in threads { isOpen.signal() }
            for thread in threads { thread.join() }
            let lost = failures.list.compactMap { $0 }
            let won = racers - lost.count
            let late = won > 0 ? Self.failure(write, racers) : nil
            try client.delete(key)
            guard won > 0 else {
                if let other = lost.first(where: { !Self.isRefusal($0) }) { throw other }
                continue
            }
            guard let late else { return .ignored }
            guard Self.isRefusal(late) else { throw late }
            decided += 1
            if won > 1 { several += 1 }
        }
        guard decided > 0 else {
            throw StoreError(.unexpectedAnswer, "examine", client.place(key), "no writer of a race wins")
        }
        return several > 0 ? .several(rounds: several) : .holds
    }
}
