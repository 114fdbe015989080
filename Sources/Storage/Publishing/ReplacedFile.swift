import Conversion
import Glibc
import System

/// What an output keeps of the file whose place it takes, beside the contents: owner, group, permissions, access list and
/// the extended attributes of users.
public struct ReplacedFile: Sendable, Hashable {
    let permissions: FilePermissions
    /// In the form of the kernel; `nil` if the file has none beside its permissions.
    let accessList: [UInt8]?
    /// The values by the names, which begin with `user.`.
    let attributes: [String: [UInt8]]

    /// That of an open file; `nil` for pipes and devices.
    public init?(_ descriptor: Int32) {
        guard let facts = FileFacts.of(descriptor), facts.kind == .file else { return nil }
        permissions = facts.permissions
        accessList = SystemCall.attribute(Self.accessListName, of: descriptor)
        var attributes: [String: [UInt8]] = [:]
        for name in SystemCall.attributeNames(of: descriptor) where name.hasPrefix("user.") {
            // The mark of a job's output has the fingerprint of the contents, which the new file does not have.
            if name != OutputMark.name { attributes[name] = SystemCall.attribute(name, of: descriptor) }
        }
        self.attributes = attributes
    }

    private static let accessListName = "system.posix_acl_access"

    /// The permissions without an access list. Beside one, those of the group are the most that its entries may grant.
    var plainMode: UInt32 { accessList == nil ? permissions.mode & 0o777 : permissions.mode & 0o707 }

    /// Throws if this process may not write to the file at `path`. Root may write to all files, but not to one that is
    /// read-only for its owner.
    public func refuseReadOnly(_ path: String) throws(StorageError) {
        if faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0 {
            throw StorageError(errno: errno, .destination, at: .open, "write to", place: path)
        }
        guard permissions.mode & 0o222 == 0 else { return }
        let hint = "make it writable, as by chmod u+w, or change a copy"
        throw StorageError(.permissionDenied, at: .open, "write to", "it is read-only", place: path, hint: hint)
    }

    /// What the open file `descriptor` lacks of it, such as `its owner`.
    public func lacking(in descriptor: Int32) -> [String] {
        guard let facts = FileFacts.of(descriptor) else { return ["its permissions"] }
        var lacking: [String] = []
        if let owner = permissions.owner, facts.owner != owner { lacking.append("its owner") }
        if facts.group != permissions.group { lacking.append("its group") }
        if accessList != SystemCall.attribute(Self.accessListName, of: descriptor) { lacking.append("its access list") }
        let missing = attributes.filter { SystemCall.attribute($0.key, of: descriptor) != $0.value }
        return lacking + missing.keys.sorted().map { "the attribute \($0)" }
    }

    // MARK: Keeping

    /// Gives its owner, group and attributes to a new file, as far as this process may. To be called before the mode is set: a
    /// file that may not be written takes no attributes.
    func give(to descriptor: Int32) {
        // Few may give files to others.
        if fchown(descriptor, permissions.owner ?? .max, permissions.group) != 0 {
            _ = fchown(descriptor, .max, permissions.group)
        }
        for (name, value) in attributes { _ = SystemCall.setAttribute(name, of: descriptor, to: value) }
        // The folder may have given one to the new file.
        _ = SystemCall.removeAttribute(Self.accessListName, of: descriptor)
    }

    /// Gives its access list to a new file that has its group: for another one, the entries would mean others.
    func giveAccessList(to descriptor: Int32) {
        guard let accessList, FileFacts.of(descriptor)?.group == permissions.group else { return }
        _ = SystemCall.setAttribute(Self.accessListName, of: descriptor, to: accessList)
    }
}
