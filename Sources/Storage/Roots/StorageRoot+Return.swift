import Glibc

/// What stands at the path of a root that was lost.
public enum RootReturn: Sendable, Hashable {
    /// It may be opened anew: what it lay on is mounted again, or something else in its place, which `note` names.
    case present(note: String?)
    /// It may not, and why.
    case refused(String)
}

extension StorageRoot {
    /// Whether what is at the root's path now may be taken for the root. `atLoss` is what stood there when the loss was noticed:
    /// under a lost mount its empty folder comes to light, in which every source would seem to be missing.
    ///
    /// Any file system that is mounted where the lost one was is accepted: an administrator mounted it there on purpose.
    public func whatCame(after atLoss: FileIdentity?) -> RootReturn {
        guard let facts = FileFacts.of(path, followingLinks: true) else {
            return .refused("there is nothing at \(path)")
        }
        guard facts.kind == .folder else { return .refused("\(path) is a \(facts.kind.rawValue)") }
        let present = MountTable.read().mount(of: realPath)
        let isElsewhere = facts.identity.device != identity.device
        if isElsewhere, let mount, let present, present.path.utf8.count < mount.path.utf8.count {
            return .refused("nothing is mounted at \(mount.path), where \(mount.name) was; mount it again")
        }
        guard facts.identity != atLoss || isElsewhere && mount != nil && present != nil else {
            return .refused(
                "another folder is at \(path) since it was lost; restore the one that was there, or restart the worker"
            )
        }
        guard isElsewhere else { return .present(note: nil) }
        let (now, before) = (present?.name ?? "another file system", mount?.name ?? "the one before")
        return .present(note: "\(now) is mounted at \(present?.path ?? path), where \(before) was")
    }
}
