import Glibc

/// What is found at the path of a lost root.
public enum RootReturn: Sendable, Hashable {
    /// The root may be reopened: its file system is mounted again, or another one in its place, which `note` names.
    case present(note: String?)
    /// The root may not be reopened, for this reason.
    case refused(String)
}

extension StorageRoot {
    /// Checks whether the folder now at the root's path can replace the lost root. `atLoss` identifies the folder
    /// found there when the loss was noticed: unmounting exposes the empty mount point, in which every source would
    /// seem to be missing.
    ///
    /// Accepts any file system that is mounted where the lost one was: an administrator mounted it there on purpose.
    public func whatCame(after atLoss: FileIdentity?) -> RootReturn {
        guard let facts = FileFacts.of(path, followingLinks: true) else {
            return .refused("\(path) does not exist")
        }
        guard facts.kind == .folder else { return .refused("\(path) is a \(facts.kind.rawValue)") }
        let present = MountTable.read().mount(of: realPath)
        let isElsewhere = facts.identity.device != identity.device
        if isElsewhere, let mount, let present, present.path.utf8.count < mount.path.utf8.count {
            return .refused("nothing is mounted at \(mount.path), where \(mount.name) was; mount it again")
        }
        guard facts.identity != atLoss || isElsewhere && mount != nil && present != nil else {
            return .refused(
                "\(path) is now another folder; restore the original folder, or restart the worker"
            )
        }
        guard isElsewhere else { return .present(note: nil) }
        let (now, before) = (present?.name ?? "another file system", mount?.name ?? "another one")
        return .present(note: "\(now) is mounted at \(present?.path ?? path), where \(before) was")
    }
}
