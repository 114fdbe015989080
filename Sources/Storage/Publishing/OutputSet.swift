import Conversion
import Glibc

/// The outputs of one conversion, which appear together or not at all.
///
/// A set that is dropped before `publish` leaves nothing, like a single `OutputFile`.
public struct OutputSet: ~Copyable {
    private struct Member {
        let file: UnfinishedFile
        let policy: Recipe.ConflictPolicy
    }

    private var members: [Member] = []

    public init() {}

    var files: [UnfinishedFile] { members.map(\.file) }

    public mutating func add(_ output: consuming OutputFile) {
        members.append(Member(file: output.file, policy: output.policy))
    }

    /// In the order of adding, as for `OutputFile.descriptor`.
    public var descriptors: [Int32] { members.map(\.file.descriptor) }

    /// Whether `seal` can detect writers of every file.
    public var canBeSealed: Bool { members.allSatisfy(\.file.canBeSealed) }

    /// Seals the file at `index` as `OutputFile.seal()` does.
    public func seal(_ index: Int) -> Bool? { members[index].file.seal() }

    /// The size of the file at `index`, and whether it has holes.
    public func written(_ index: Int) throws(StorageError) -> WrittenBytes {
        let file = members[index].file
        if let written = WrittenBytes.of(file.descriptor, on: file.folder.kind) { return written }
        throw StorageError(errno: errno, .destination, at: .publish, "inspect", place: file.folder.path(of: file.name))
    }

    /// Length and SHA-256 of the file at `index`.
    public func fingerprint(_ index: Int) throws(StorageError) -> Fingerprint {
        let file = members[index].file
        file.folder.touch()
        if let fingerprint = Fingerprint.of(file.descriptor) { return fingerprint }
        throw StorageError(
            errno: errno,
            .destination,
            at: .publish,
            "read back",
            place: file.folder.path(of: file.name)
        )
    }

    /// Makes all files durable, so that little time passes before a following `publish` has given them their names.
    public func flush() throws(StorageError) {
        for member in members { try member.file.flush() }
    }

    /// Makes all files durable, then gives them their final names one after another. Returns what became of each.
    /// `durably` as for `OutputFile.publish(durably:)`.
    ///
    /// Free names come first: if a later step fails, they are given up again, and the destinations are as before.
    /// Replacing comes last, when every step that usually fails is done. Only if a rename over an existing file fails
    /// after another one has succeeded, or if this process is killed between two names, do some files appear
    /// without the others; each of them is whole.
    public consuming func publish(durably: Bool = true) throws(StorageError) -> [OutputFile.Outcome] {
        for member in members where durably || !member.file.folder.isLocal { try member.file.flush() }
        var outcomes = members.map { _ in OutputFile.Outcome.published }
        var named: [UnfinishedFile] = []
        do throws(StorageError) {
            for member in members where member.policy == .replace {
                try OutputFile.refuseOthersThanFiles(member.file)
                if try member.file.takeFreeNameOrHide() { named.append(member.file) }
            }
            for (index, member) in members.enumerated() where member.policy != .replace {
                if try member.file.takeFreeName() {
                    named.append(member.file)
                } else {
                    guard member.policy == .skip else { throw OutputFile.exists(member.file) }
                    try member.file.discard()
                    outcomes[index] = .skipped
                }
            }
            for member in members where member.file.hiddenName != nil { try member.file.takeName() }
        } catch {
            for file in named { file.giveUpName() }
            throw error
        }
        guard durably else { return outcomes }
        var flushed: Set<FileIdentity> = []
        for member in members {
            let folder = member.file.folder.facts?.identity
            if let folder, !flushed.insert(folder).inserted { continue }
            try member.file.folder.flush(with: member.file.descriptor)
        }
        return outcomes
    }
}
