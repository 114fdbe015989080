import Glibc

extension StorageRoot {
    /// Removes what dead workers left in the folder at `below` (not in those below it), and says what it removed.
    ///
    /// The files of attempts go if they are older than `age` and `isAlive` does not know them; their leases are random,
    /// so what is dead stays dead. Unfinished outputs go if no process holds their lock or, where locks cannot be trusted, if
    /// they were not written to for `age`. That clock is the file server's, so `age` should be long against its error.
    public func sweep(
        folder below: String,
        olderThan age: Duration,
        isAlive: (AttemptName) throws(StorageError) -> Bool
    ) throws(StorageError) -> [String] {
        try sweep(folder: below, olderThan: age, now: Int64(time(nil)), isAlive: isAlive)
    }

    /// Removes what earlier attempts at a job left where `attempt` is to publish, and says how many files that were.
    ///
    /// Only the worker that holds the job may call it: then no earlier claim stands, so those files are dead, however young they are.
    /// Another ledger's job of the same number is another job. Lists the folder.
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
        var removed: [String] = []
        for name in try folder.hiddenNames() {
            guard let facts = try folder.facts(of: name, at: .open), facts.kind == .file else { continue }
            let isOld = now - facts.changedAt >= age.components.seconds
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
    /// The names in this folder that start with a dot and hold our mark.
    fileprivate func hiddenNames() throws(StorageError) -> [String] {
        // A descriptor of its own, whose place in the listing no other code moves.
        let opened = retryingInterrupts { openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) }
        guard opened >= 0, let stream = fdopendir(opened) else {
            let number = errno
            if opened >= 0 { close(opened) }
            throw StorageError(errno: number, .destination, at: .open, "list the folder", place: path)
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else { break }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { letters in
                letters.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.utf8.first == UInt8(ascii: "."), name.contains(".sluice-") { names.append(name) }
        }
        guard errno == 0 else {
            throw StorageError(errno: errno, .destination, at: .open, "list the folder", place: path)
        }
        return names.sorted()
    }
}
