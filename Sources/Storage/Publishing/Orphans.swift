import Conversion
import Glibc
import System

extension StorageRoot {
    /// Removes what dead workers left in the folder `below`, but not in its subfolders. Returns the removed names.
    ///
    /// An attempt's file goes if it is older than `age` and `isAlive` rejects the attempt; leases are random, so a
    /// dead attempt stays dead. An unfinished output goes if no process holds its lock or, where locks are not
    /// reliable, if it was not written to for `age`. Ages are by the file server's clock, so `age` should be long
    /// compared with its error.
    public func sweep(
        folder below: String,
        olderThan age: Duration,
        isAlive: (AttemptName) throws(StorageError) -> Bool
    ) throws(StorageError) -> [String] {
        try sweep(folder: below, olderThan: age, now: Int64(time(nil)), isAlive: isAlive)
    }

    /// Removes files of the job's earlier attempts from the folder that `attempt` publishes to. Returns how many.
    ///
    /// Only the worker that holds the job may call it: then no earlier claim is valid, so those files are dead,
    /// however young they are. A job of the same number in another ledger is another job. Lists the folder.
    public func removeEarlier(than attempt: AttemptName, of location: Location) throws(StorageError) -> Int {
        let folder = try folder(location.folder, at: .open, creating: false)
        var count = 0
        for name in try folder.hiddenNames() {
            guard let other = AttemptName(fileName: name), other.ledger == attempt.ledger, other.job == attempt.job,
                other.epoch < attempt.epoch
            else { continue }
            try folder.remove(name)
            count += 1
        }
        return count
    }

    /// The same at the time `now`, in seconds since 1970.
    package func sweep(
        folder below: String,
        olderThan age: Duration,
        now: Int64,
        isAlive: (AttemptName) throws(StorageError) -> Bool
    ) throws(StorageError) -> [String] {
        let folder = try folder(below, at: .open, creating: false)
        // Not the difference to a file's time: a file server may tell any time.
        let youngest = now - age.components.seconds
        var removed: [String] = []
        for name in try folder.hiddenNames() {
            guard let facts = try folder.facts(of: name, at: .open), facts.kind == .file else { continue }
            let isOld = facts.changedAt <= youngest
            if let attempt = AttemptName(fileName: name) {
                guard isOld, try !isAlive(attempt) else { continue }
                try folder.remove(name)
                removed.append(name)
            } else if HiddenName.isPart(name) {
                if folder.isLocal {
                    guard try UnfinishedFile.sweep(name, in: folder) else { continue }
                } else {
                    guard isOld else { continue }
                    try folder.remove(name)
                }
                removed.append(name)
            }
        }
        return removed
    }
}

extension Folder {
    /// The names in this folder that start with a dot and contain `.sluice-`; of very many, some.
    fileprivate func hiddenNames() throws(StorageError) -> [String] {
        try names { $0.utf8.first == UInt8(ascii: ".") && $0.contains(".sluice-") }
    }

    /// The names in this folder that `isWanted` takes, in order; of very many, some.
    func names(_ isWanted: (String) -> Bool) throws(StorageError) -> [String] {
        // A separate descriptor, whose position in the listing no other code moves.
        let opened = retryingInterrupts { openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) }
        guard opened >= 0, let stream = fdopendir(opened) else {
            let number = errno
            if opened >= 0 { close(opened) }
            throw StorageError(errno: number, .destination, at: .open, "list the folder", place: path)
        }
        defer { closedir(stream) }
        var names: [String] = []
        while names.count < Self.mostNames {
            errno = 0
            guard let entry = readdir(stream) else { break }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { letters in
                letters.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if isWanted(name) { names.append(name) }
        }
        guard errno == 0 else {
            throw StorageError(errno: errno, .destination, at: .open, "list the folder", place: path)
        }
        return names.sorted()
    }

    /// Workers leave a few. Others who may write to the folder, or its file server, can show names without end.
    private static let mostNames = 100_000
}
