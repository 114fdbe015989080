/// The output folder: files under attempts' names and under final names, now and after a power cut.
struct Folder: Sendable {
    struct AttemptFile: Sendable {
        let key: AttemptKey
        let content: Content
        let isSynced: Bool
        let madeAt: Milliseconds
    }

    struct FinalFile: Sendable {
        var content: Content
        var isSynced: Bool
        var key: AttemptKey?
    }

    private struct Names: Sendable {
        var attempts: [AttemptFile] = []
        var finals: [FinalFile?]
    }

    private var names: Names
    /// What has certainly reached the disk.
    private var durable: Names

    var attempts: [AttemptFile] { names.attempts }

    init(places: Int, occupied: Int?) {
        names = Names(finals: Array(repeating: nil, count: places))
        if let occupied { names.finals[occupied] = FinalFile(content: .foreign, isSynced: true, key: nil) }
        durable = names
    }

    func final(_ place: Int) -> FinalFile? { names.finals[place] }

    func hasAttempt(_ key: AttemptKey) -> Bool {
        for file in names.attempts where file.key == key { return true }
        return false
    }

    /// Links a finished file under its attempt's name, unless other bytes have that name.
    ///
    /// Returns whether a file with these bytes has the name.
    mutating func link(_ order: Order, isSynced: Bool, at now: Milliseconds) -> Bool {
        for file in names.attempts where file.key == order.key { return file.content == order.content }
        names.attempts.append(
            AttemptFile(key: order.key, content: order.content, isSynced: isSynced, madeAt: now)
        )
        return true
    }

    /// Removes an attempt's file. `false` if there was none.
    @discardableResult
    mutating func remove(_ key: AttemptKey) -> Bool {
        for index in names.attempts.indices where names.attempts[index].key == key {
            names.attempts.remove(at: index)
            return true
        }
        return false
    }

    enum Naming: UInt8, Sendable { case named, adopted, destinationExists, attemptLost }

    /// Renames an attempt's file to its final name, or finds that this has happened already.
    mutating func name(_ order: Order, at place: Int, _ policy: Policy, under guards: Guards) -> Naming {
        var found: AttemptFile?
        for file in names.attempts where file.key == order.key { found = file }
        let isTaken = names.finals[place] != nil
        if let found, policy == .replace || !isTaken || !guards.stand(.noClobber) {
            names.finals[place] = FinalFile(content: found.content, isSynced: found.isSynced, key: found.key)
            remove(order.key)
            return .named
        }
        if let present = names.finals[place], present.content == order.content || !guards.stand(.adoptedByDigest) {
            remove(order.key)
            return .adopted
        }
        // Another file keeps the destination, so no process needs this one any more.
        remove(order.key)
        return isTaken && policy == .fail ? .destinationExists : .attemptLost
    }

    /// Renames an attempt's file without any further checks. `false` if it is gone, or if its destination is taken
    /// and must stay.
    mutating func rename(_ order: Order, at place: Int, _ policy: Policy) -> Bool {
        for file in names.attempts where file.key == order.key {
            guard policy == .replace || names.finals[place] == nil else { return false }
            names.finals[place] = FinalFile(content: file.content, isSynced: file.isSynced, key: file.key)
            return remove(order.key)
        }
        return false
    }

    /// Makes all names durable against a power cut.
    mutating func flush() { durable = names }

    /// Cuts the power. With `keepsNames`, the kernel had just written the names on its own.
    mutating func cutPower(keepsNames: Bool) {
        if !keepsNames { names = durable }
        names.attempts = names.attempts.map {
            AttemptFile(key: $0.key, content: $0.content.torn(unless: $0.isSynced), isSynced: true, madeAt: $0.madeAt)
        }
        for place in names.finals.indices {
            if let file = names.finals[place] {
                names.finals[place]?.content = file.content.torn(unless: file.isSynced)
                names.finals[place]?.isSynced = true
            }
        }
        durable = names
    }
}

extension Content {
    fileprivate func torn(unless isSynced: Bool) -> Content {
        var result = self
        if !isSynced { result.isWhole = false }
        return result
    }
}
