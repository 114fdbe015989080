public import Conversion
import Glibc
import System

/// A named folder below which sources are read and outputs are published. No path leads out of it.
public final class StorageRoot: Sendable {
    public let name: String
    public let path: String
    public let rules: RootRules
    let descriptor: Int32
    let identity: FileIdentity
    private let beneath: Beneath
    /// The folder's path when it was opened, with links resolved, and the mount that it lay on.
    let realPath: String
    let mount: MountTable.Mount?
    /// The group that the rules give to outputs.
    private let group: UInt32?

    private init(
        _ name: String,
        _ path: String,
        _ rules: RootRules,
        _ folder: consuming Descriptor,
        _ identity: FileIdentity,
        _ beneath: Beneath,
        _ group: UInt32?
    ) {
        self.name = name
        self.group = group
        self.path = path
        self.rules = rules
        self.identity = identity
        self.beneath = beneath
        realPath = FileSystemFacts.path(of: folder.number)
        mount = MountTable.read().mount(of: realPath)
        descriptor = folder.release()
    }

    deinit { close(descriptor) }

    /// Opens the folder at `path`, following links, as the root `name`.
    public static func open(
        name: String,
        path: String,
        rules: RootRules = RootRules()
    ) throws(StorageError) -> StorageRoot {
        try open(name: name, path: path, rules: rules, withoutOpenat2: false)
    }

    /// The same; `withoutOpenat2` behaves as on kernels that lack the call, and so refuses every link below the root.
    package static func open(
        name: String,
        path: String,
        rules: RootRules = RootRules(),
        withoutOpenat2: Bool
    ) throws(StorageError) -> StorageRoot {
        if let problem = Location.problem(ofRootName: name) {
            throw StorageError(.invalidLocation, at: .open, "open the root", problem, place: name)
        }
        if let problem = pathProblem(path) {
            throw StorageError(.invalidPath, at: .open, "open the root", problem, place: path)
        }
        let opened = retryingInterrupts { Glibc.open(path, O_DIRECTORY | SystemFlag.placeOnly | O_CLOEXEC, 0) }
        guard opened >= 0 else {
            throw StorageError(errno: errno, .destination, at: .open, "open the root", place: path)
        }
        let folder = Descriptor(adopting: opened)
        guard let facts = FileFacts.of(opened) else {
            throw StorageError(errno: errno, .destination, at: .open, "open the root", place: path)
        }
        let beneath = withoutOpenat2 ? Beneath(means: .steps) : Beneath.available(in: opened)
        let group = try rules.group.map { word throws(StorageError) in try Self.group(word, of: path) }
        return StorageRoot(name, path, rules, folder, facts.identity, beneath, group)
    }

    /// The number of the group `word`, to which this process can give its outputs.
    private static func group(_ word: String, of path: String) throws(StorageError) -> UInt32 {
        func refused(_ detail: String) -> StorageError {
            StorageError(.permissionDenied, at: .open, "give outputs to the group \(word) in", detail, place: path)
        }
        guard let number = UInt32(word) ?? SystemCall.groupNumber(of: word) else {
            throw refused("there is no such group on this machine")
        }
        var own = [gid_t](repeating: 0, count: 65_536)
        let count = Int(getgroups(Int32(own.count), &own))
        guard geteuid() == 0 || number == getegid() || own.prefix(max(count, 0)).contains(number) else {
            throw refused("this user is not a member of it")
        }
        return number
    }

    /// Throws `storage_unavailable` if no file of the root can be used: its path no longer leads to the folder that was
    /// opened, or this process may not enter that folder.
    ///
    /// Unmounting a share exposes an empty folder, in which every source seems to be missing.
    public func check() throws(StorageError) {
        FileCalls.touches(name)
        guard !isReplaced else { throw unusable("\(path) no longer leads to the folder that was opened as the root") }
        // Any look-up in a folder needs the permission to enter it.
        guard FileFacts.of(".", in: descriptor, followingLinks: false) == nil else { return }
        if errno == EACCES { throw unusable("this user may not enter the folder \(path): it lacks the permission `x`") }
    }

    /// Why this process may create no file in the root's own folder; `nil` if it may, or if something else prevents it.
    /// To find out, creates a hidden file and removes it.
    public var denialOfWriting: StorageError? {
        let name = HiddenName.random(for: "write")
        let created = retryingInterrupts { openat(descriptor, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600) }
        guard created < 0 else {
            close(created)
            // A file that cannot be removed has the name of an unfinished output, and is swept like one.
            unlinkat(descriptor, name, 0)
            return nil
        }
        let error = StorageError(errno: errno, .destination, at: .open, "write to the root", place: self.name)
        return error.code == .permissionDenied || error.code == .readOnly ? error : nil
    }

    /// Whether the root's path no longer leads to the folder that was opened.
    public var isReplaced: Bool { FileFacts.of(path, followingLinks: true)?.identity != identity }

    private func unusable(_ detail: String) -> StorageError {
        StorageError(.storageUnavailable, at: .open, "use the root", detail, place: name)
    }

    // MARK: - Sources

    /// Opens the file at `location`, which must lie below this root.
    public func openSource(_ location: Location) throws(StorageError) -> SourceFile {
        guard rules.mayRead else { throw forbidden("open the source", "the root is write-only", location) }
        // Checked first: opening a device may have side effects.
        let place = Descriptor(adopting: try open(location, SystemFlag.placeOnly))
        guard let facts = FileFacts.of(place.number) else { throw cannotOpen(errno, location) }
        guard facts.kind == .file else {
            let detail = "it is a \(facts.kind.rawValue)"
            throw StorageError(.notAFile, at: .open, "open the source", detail, place: "\(location)")
        }
        let file = Descriptor(adopting: try open(location, O_RDONLY | O_NONBLOCK | O_NOCTTY))
        return try SourceFile.adopt(file, [.file], "\(location)")
    }

    private func open(_ location: Location, _ flags: Int32) throws(StorageError) -> Int32 {
        try assertOurs(location)
        FileCalls.touches(name)
        let opened = beneath.open(location.path, in: descriptor, flags)
        guard opened < 0 else { return opened }
        let number = errno
        if number == ENOENT { try check() }
        throw cannotOpen(number, location)
    }

    /// What is at a path below the root; `nil` if nothing can be opened there.
    func kind(of path: String) -> FileKind? {
        let opened = beneath.open(path, in: descriptor, SystemFlag.placeOnly)
        guard opened >= 0 else { return nil }
        let place = Descriptor(adopting: opened)
        return FileFacts.of(place.number)?.kind
    }

    private func cannotOpen(_ number: Int32, _ location: Location) -> StorageError {
        number == EXDEV
            ? leadsOut("open the source", "\(location)")
            : StorageError(errno: number, .source, at: .open, "open the source", place: "\(location)")
    }

    // MARK: - Outputs

    /// Opens an output for `location`, after checking everything that would stop it later. Creates missing folders.
    ///
    /// Unlike a plain path, refuses a link as destination: below a root the last component is never followed. With
    /// `mayExist`, publishing compares an existing file of that name with the output, and adopts it if the bytes are
    /// the same.
    public func prepareOutput(
        at location: Location,
        onConflict policy: Recipe.ConflictPolicy,
        sources: [FileIdentity] = [],
        permissions: [FilePermissions] = [],
        mayExist: Bool = false
    ) throws(StorageError) -> OutputFile.Preparation {
        try prepareOutput(
            at: location,
            onConflict: policy,
            sources: sources,
            permissions: permissions,
            mayExist: mayExist,
            mustBeHidden: false
        )
    }

    /// The same; `mustBeHidden` works without unnamed files, as some file systems require.
    package func prepareOutput(
        at location: Location,
        onConflict policy: Recipe.ConflictPolicy,
        sources: [FileIdentity] = [],
        permissions: [FilePermissions] = [],
        mayExist: Bool = false,
        mustBeHidden: Bool
    ) throws(StorageError) -> OutputFile.Preparation {
        try allow(location)
        let folder = try folder(of: location, at: .open, creating: true)
        return try prepareOutput(
            at: location,
            in: folder,
            present: folder.facts(of: location.name, at: .open),
            onConflict: policy,
            sources: sources,
            permissions: permissions,
            mayExist: mayExist,
            mustBeHidden: mustBeHidden,
            sweeping: true
        )
    }

    /// The same in a folder that is open already. `present` has the name there.
    func prepareOutput(
        at location: Location,
        in folder: Folder,
        present: FileFacts?,
        onConflict policy: Recipe.ConflictPolicy,
        sources: [FileIdentity],
        permissions: [FilePermissions],
        mayExist: Bool,
        mustBeHidden: Bool,
        sweeping: Bool
    ) throws(StorageError) -> OutputFile.Preparation {
        do throws(StorageError) {
            return try OutputFile.prepare(
                in: folder,
                location.name,
                present: present,
                onConflict: rules.policy(policy),
                sources: sources,
                access: access(within: permissions),
                mustBeHidden: mustBeHidden,
                mayExist: mayExist,
                sweeping: sweeping
            )
        } catch  where error.code == .destinationExists && policy == .replace {
            throw forbidden("replace", "files below the root must not be replaced", location)
        }
    }

    /// Who may use an output that is made from files with the permissions `sources`.
    func access(within sources: [FilePermissions]) -> OutputAccess {
        OutputAccess(mode: rules.mode.map(OutputMode.fixed) ?? .ofFolder(within: sources), group: group)
    }

    /// Throws `root_forbids` unless the rules allow an output at `location`.
    func allow(_ location: Location) throws(StorageError) {
        try assertOurs(location)
        guard rules.mayWrite else { throw forbidden("write to", "the root is read-only", location) }
        guard !rules.extensions.isEmpty else { return }
        let parts = location.name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count > 1, let last = parts.last, rules.extensions.contains(last.lowercased()) else {
            let allowed = rules.extensions.sorted().joined(separator: ", ")
            throw forbidden("write to", "outputs below the root must end in \(allowed)", location)
        }
    }

    private func forbidden(_ operation: String, _ detail: String, _ location: Location) -> StorageError {
        StorageError(.rootForbids, at: .open, operation, detail, place: "\(location)")
    }

    /// The folder that contains `location`.
    func folder(
        of location: Location,
        at stage: Failure.Stage,
        creating: Bool = false
    ) throws(StorageError) -> Folder {
        try assertOurs(location)
        return try folder(location.folder, at: stage, creating: creating)
    }

    /// The folder at `below`, relative to the root.
    func folder(_ below: String, at stage: Failure.Stage, creating: Bool) throws(StorageError) -> Folder {
        FileCalls.touches(name)
        let shown = "\(name):\(below)"
        let path = below.isEmpty ? "." : below
        if let folder = open(path, shown) { return folder }
        var number = errno
        if number == ENOENT { try check() }
        if number == ENOENT, creating {
            try createFolders(below, at: stage)
            if let folder = open(path, shown) { return folder }
            number = errno
        }
        throw number == EXDEV
            ? leadsOut("open the folder", shown)
            : StorageError(errno: number, .destination, at: stage, "open the folder", place: shown)
    }

    /// `nil` with `errno` set if the folder cannot be opened.
    private func open(_ path: String, _ shown: String) -> Folder? {
        let readable = beneath.open(path, in: descriptor, O_RDONLY | O_DIRECTORY)
        if readable >= 0 {
            return Folder(adopting: Descriptor(adopting: readable), path: shown, isReadable: true, below: name)
        }
        guard errno == EACCES else { return nil }
        let searchable = beneath.open(path, in: descriptor, SystemFlag.placeOnly | O_DIRECTORY)
        guard searchable >= 0 else { return nil }
        return Folder(adopting: Descriptor(adopting: searchable), path: shown, isReadable: false, below: name)
    }

    /// Creates the missing folders of `below`, each in the one that was opened before it.
    private func createFolders(_ below: String, at stage: Failure.Stage) throws(StorageError) {
        var parent = try folder("", at: stage, creating: false)
        var done = ""
        let access = access(within: [])
        for part in below.pathNames {
            let above = FileFacts.of(parent.descriptor)?.mode ?? 0o755
            // Another worker may create the same folder at the same time, and finds it with these permissions: a worker
            // has no umask.
            let isNew = mkdirat(parent.descriptor, part, access.folderMode(0, in: above)) == 0
            guard isNew || errno == EEXIST else {
                throw StorageError(
                    errno: errno,
                    .destination,
                    at: stage,
                    "create the folder",
                    place: "\(name):\(below)"
                )
            }
            done += done.isEmpty ? part : "/" + part
            if isNew { try parent.permitNew(part, access, in: above) }
            let child = try folder(done, at: stage, creating: false)
            if isNew { try parent.flush(with: child.descriptor) }
            parent = child
        }
    }

    private func leadsOut(_ operation: String, _ place: String) -> StorageError {
        let detail =
            beneath.means == .kernel
            ? "a symbolic link in the path leads out of the root"
            : "the path contains a symbolic link, which is not followed here"
        return StorageError(.outsideRoot, at: .open, operation, detail, place: place)
    }

    private func assertOurs(_ location: Location) throws(StorageError) {
        guard location.root != name else { return }
        throw StorageError(
            .unknownRoot,
            at: .open,
            "use the root \(name) for",
            "it belongs to another root",
            place: "\(location)"
        )
    }
}

extension StorageRoot {
    /// Asks the file system of the root how full it is, which no cache of the kernel answers. Returns when it has
    /// answered, whatever the answer is: for as long as the server of a network file system is silent, this blocks.
    public func awaitAnswer() {
        var facts = statvfs()
        _ = fstatvfs(descriptor, &facts)
    }
}
