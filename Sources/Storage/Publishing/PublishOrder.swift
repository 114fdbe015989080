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
        publish(orders.map { [$0] }, durably: durably).map { $0.map { $0[0] } }
    }

    /// The same for jobs with any number of outputs. Returns a result for each job, with the outcomes of its orders.
    ///
    /// Before the first name of a job is given, all its orders are checked, so that an obstacle stops all of them. If
    /// one fails later, those after it are left, and the job has failed. Names that it has already are not taken back:
    /// another process may be carrying out the same orders, and have reported success.
    public func publish(
        _ jobs: [[PublishOrder]],
        durably: Bool = true
    ) -> [Result<[PublishOutcome], StorageError>] {
        var folders: [String: Result<Folder, StorageError>] = [:]
        func step<Value>(
            _ order: PublishOrder,
            _ body: (Folder, Recipe.ConflictPolicy) throws(StorageError) -> Value
        ) -> Result<Value, StorageError> {
            let folder =
                folders[order.folderKey]
                ?? Result { () throws(StorageError) in
                    try root(of: order.location).folder(of: order.location, at: .publish)
                }
            folders[order.folderKey] = folder
            return folder.flatMap { folder in
                Result { () throws(StorageError) in
                    try body(folder, root(of: order.location).rules.policy(order.onConflict))
                }
            }
        }
        let results = jobs.map { orders -> Result<[PublishOutcome], StorageError> in
            // Of several hundred jobs, each may take a while.
            defer { FileCalls.goesOn() }
            return Result { () throws(StorageError) in
                if orders.count > 1 {
                    for order in orders {
                        try step(order) { folder, policy throws(StorageError) in
                            try folder.check(order, onConflict: policy)
                        }.get()
                    }
                }
                var outcomes: [PublishOutcome] = []
                for order in orders {
                    outcomes.append(
                        try step(order) { folder, policy throws(StorageError) in
                            try folder.publish(order, onConflict: policy)
                        }.get()
                    )
                }
                return outcomes
            }
        }
        return durably ? flush(jobs, folders, results) : results
    }

    /// Removes the file of an attempt that will not be published.
    public func discard(_ attempt: AttemptName, of location: Location) throws(StorageError) {
        let folder = try root(of: location).folder(of: location, at: .publish)
        try folder.remove(attempt.fileName(for: location.name))
    }

    /// Flushes each folder once. If that fails, every job with an output published in the folder counts as failed.
    private func flush(
        _ jobs: [[PublishOrder]],
        _ folders: [String: Result<Folder, StorageError>],
        _ results: [Result<[PublishOutcome], StorageError>]
    ) -> [Result<[PublishOutcome], StorageError>] {
        var problems: [String: StorageError] = [:]
        var flushed: Set<String> = []
        return zip(jobs, results).map { orders, result in
            result.flatMap { outcomes in
                // Includes adopted names: the process that made them may have died before its flush.
                for (order, outcome) in zip(orders, outcomes) where outcome != .skipped {
                    let key = order.folderKey
                    if flushed.insert(key).inserted, case .success(let folder)? = folders[key] {
                        do throws(StorageError) {
                            try folder.flush(holding: order.location.name)
                        } catch {
                            problems[key] = error
                        }
                    }
                    if let problem = problems[key] { return .failure(problem) }
                }
                return .success(outcomes)
            }
        }
    }
}

extension PublishOrder {
    /// Orders with the same key go to the same folder.
    fileprivate var folderKey: String { "\(location.root):\(location.folder)" }
}

extension Folder {
    /// Throws if it is certain that `publish` would fail.
    fileprivate func check(_ order: PublishOrder, onConflict policy: Recipe.ConflictPolicy) throws(StorageError) {
        let name = order.location.name
        let attempt = try facts(of: order.attempt.fileName(for: name), at: .publish)
        guard let attempt else { return _ = try adopt(order, onConflict: policy) }
        guard let present = try facts(of: name, at: .publish), present.identity != attempt.identity else { return }
        switch policy {
        case .fail: _ = try adopt(order, onConflict: policy)
        case .replace: try refuseOthersThanFiles(present, name)
        case .skip: break
        }
    }

    private func refuseOthersThanFiles(_ present: FileFacts, _ name: String) throws(StorageError) {
        // A rename would replace a device or a link as well.
        if present.kind != .file { throw refusal(.notAFile, "it is a \(present.kind.rawValue)", name) }
    }

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
                if let present = try facts(of: name, at: .publish) { try refuseOthersThanFiles(present, name) }
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
