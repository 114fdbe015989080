public import Conversion
import Glibc
import System

/// The ledger's order to publish one output, stored between the two transactions of publishing.
public struct PublishOrder: Sendable, Hashable {
    /// The final destination.
    public let location: Location
    /// The attempt whose file is published.
    public let attempt: AttemptName
    public let fingerprint: Fingerprint
    public let onConflict: Recipe.ConflictPolicy

    public init(
        of attempt: AttemptName,
        to location: Location,
        with fingerprint: Fingerprint,
        onConflict: Recipe.ConflictPolicy
    ) {
        self.location = location
        self.attempt = attempt
        self.fingerprint = fingerprint
        self.onConflict = onConflict
    }
}

/// How an order was carried out.
public enum PublishOutcome: String, Sendable, Hashable, CaseIterable {
    case published
    /// The same bytes already had the name: an earlier try got that far but did not report it.
    case adopted
    /// Another file has the name, and the policy is to leave it.
    case skipped
}

extension StorageRoots {
    /// Gives the files of attempts their final names, and makes the names durable once per folder.
    ///
    /// Returns results in the order of `orders`; an order that fails does not stop the others. Any process that has
    /// the orders may repeat this after a crash at any point: finished work is adopted. An attempt's file that did
    /// not get the name is removed, except after a failure that a retry may overcome.
    public func publish(_ orders: [PublishOrder], durably: Bool = true) -> [Result<PublishOutcome, StorageError>] {
        var folders: [String: Result<Folder, StorageError>] = [:]
        var results: [Result<PublishOutcome, StorageError>] = []
        for order in orders {
            let key = order.folderKey
            let folder =
                folders[key]
                ?? Result { () throws(StorageError) in
                    try root(of: order.location).folder(of: order.location, at: .publish)
                }
            folders[key] = folder
            results.append(
                folder.flatMap { folder in
                    Result { () throws(StorageError) in
                        let rules = try root(of: order.location).rules
                        return try folder.publish(order, onConflict: rules.policy(order.onConflict))
                    }
                }
            )
        }
        return durably ? flush(orders, folders, results) : results
    }

    /// Removes the file of an attempt that will not be published.
    public func discard(_ attempt: AttemptName, of location: Location) throws(StorageError) {
        let folder = try root(of: location).folder(of: location, at: .publish)
        try folder.remove(attempt.fileName(for: location.name))
    }

    /// Flushes each folder once. If that fails, every output published in the folder counts as failed.
    private func flush(
        _ orders: [PublishOrder],
        _ folders: [String: Result<Folder, StorageError>],
        _ results: [Result<PublishOutcome, StorageError>]
    ) -> [Result<PublishOutcome, StorageError>] {
        var problems: [String: StorageError] = [:]
        var flushed: Set<String> = []
        for (order, result) in zip(orders, results) {
            // Includes adopted names: the process that made them may have died before its flush.
            guard case .success(let outcome) = result, outcome != .skipped,
                case .success(let folder)? = folders[order.folderKey],
                flushed.insert(order.folderKey).inserted
            else { continue }
            do {
                try folder.flush(holding: order.location.name)
            } catch {
                problems[order.folderKey] = error
            }
        }
        return zip(orders, results).map { order, result in
            guard let problem = problems[order.folderKey] else { return result }
            return result.flatMap { $0 == .skipped ? .success($0) : .failure(problem) }
        }
    }
}

extension PublishOrder {
    /// Orders with the same key go to the same folder.
    fileprivate var folderKey: String { "\(location.root):\(location.folder)" }
}

extension Folder {
    /// Gives the file of an attempt its final name, or finds that it already has it.
    fileprivate func publish(
        _ order: PublishOrder,
        onConflict policy: Recipe.ConflictPolicy
    ) throws(StorageError) -> PublishOutcome {
        let name = order.location.name
        let hidden = order.attempt.fileName(for: name)
        guard let attempt = try facts(of: hidden, at: .publish) else { return try adopt(order, onConflict: policy) }
        guard attempt.kind == .file, attempt.byteCount == order.fingerprint.byteCount else {
            throw refusal(.attemptConflict, "its file does not match the ledger's record", hidden)
        }
        do throws(StorageError) {
            if policy == .replace {
                // A rename would replace a device or a link as well.
                if let present = try facts(of: name, at: .publish), present.kind != .file {
                    throw refusal(.notAFile, "it is a \(present.kind.rawValue)", name)
                }
                try move(hidden, over: name)
                return .published
            }
            if try move(hidden, toFree: name) { return .published }
        } catch  where error.errnoName == "ENOENT" {
            // Another process carries out the same order and was faster.
            return try adopt(order, onConflict: policy)
        }
        let outcome: PublishOutcome
        do throws(StorageError) {
            outcome = try adopt(order, onConflict: policy)
        } catch {
            // The name is taken for good. After any other failure the file is still needed.
            if error.code == .destinationExists { try remove(hidden) }
            throw error
        }
        try remove(hidden)
        return outcome
    }

    /// The outcome if the attempt's file is gone or its name is taken.
    private func adopt(
        _ order: PublishOrder,
        onConflict policy: Recipe.ConflictPolicy
    ) throws(StorageError) -> PublishOutcome {
        let name = order.location.name
        if try holds(order.fingerprint, as: name), policy == .replace || !isMarkedByOther(name, order.attempt) {
            return .adopted
        }
        let isThere = try facts(of: name, at: .publish) != nil
        switch policy {
        case .skip where isThere: return .skipped
        case .fail where isThere: throw refusal(.destinationExists, "another file has its name", name)
        default:
            throw refusal(
                .attemptLost,
                "the attempt's file is missing, and the destination does not hold its content",
                name
            )
        }
    }

    /// Whether the file's mark names another job. Then the same bytes belong to that job, which may still replace them.
    private func isMarkedByOther(_ name: String, _ attempt: AttemptName) -> Bool {
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let file = Descriptor(adopting: retryingInterrupts { openat(descriptor, name, flags, 0) })
        guard file.number >= 0, case .mark(let mark) = OutputMark.read(from: file.number) else { return false }
        return mark.ledger != attempt.ledger || mark.job != attempt.job
    }

    private func refusal(_ code: FailureCode, _ detail: String, _ name: String) -> StorageError {
        StorageError(code, at: .publish, "publish", detail, place: path(of: name))
    }
}
