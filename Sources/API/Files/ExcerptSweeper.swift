import Conversion
import FoundationEssentials
import Storage
import Synchronization

/// Removes the excerpts of a root that the page serves no more.
final class ExcerptSweeper: Sendable {
    private let share: FileShare
    private let root: String
    private let complain: @Sendable (Failure) -> Void
    private let work = Mutex<Task<Void, Never>?>(nil)
    private static let interval: Duration = .seconds(3_600)

    init(_ share: FileShare, root: String, complain: @escaping @Sendable (Failure) -> Void) {
        (self.share, self.root, self.complain) = (share, root, complain)
    }

    func start() {
        let task = Task {
            var left: [[String]] = []
            var told: StorageError?
            while !Task.isCancelled {
                let removal = await sweep(left)
                left = removal.left
                // Trouble that lasts is told once.
                if let failure = removal.failure, failure != told { complain(failure.failure) }
                told = removal.failure
                // `try?`: the only error is that this task is cancelled.
                guard (try? await Task.sleep(for: Self.interval, clock: .continuous)) != nil else { return }
            }
        }
        work.withLock { $0 = task }
    }

    func stop() async {
        let task = work.withLock { $0 }
        task?.cancel()
        await task?.value
    }

    /// Removes old excerpts, beginning with the folders that the last round has left.
    private func sweep(_ left: [[String]]) async -> StorageRoot.Removal {
        do {
            // `try?`: a root that does not answer is told of already.
            guard let root = try? share.root(forDownloads: self.root) else { return .init(left: left) }
            let oldest = Date.now.timeIntervalSince1970 - Double(ExcerptFile.kept.components.seconds)
            return try await share.run(in: root.name) { () throws(StorageError) in
                root.removeFiles(changedBefore: Int64(oldest), in: left, ExcerptFile.isOne)
            }
        } catch let error as StorageError {
            return .init(failure: error, left: left)
        } catch {
            // The root was given up meanwhile. The next round tries again.
            return .init(left: left)
        }
    }
}
