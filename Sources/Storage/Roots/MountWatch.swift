import Glibc
import Synchronization
import System

/// Tracks the mounts that this process has seen, and which of them are gone.
///
/// An unmounted file system leaves its mount point behind: an empty folder in which every source is missing. Any
/// output written there would be hidden as soon as the file system is mounted again.
public final class MountWatch: Sendable {
    /// A mount point at which nothing is mounted any more.
    public struct Lost: Sendable, Hashable {
        public let mountPoint: String
        /// The file system that was mounted there, for example `ext4 of /dev/sdb1`.
        public let name: String

        /// For example `nothing is mounted at /mnt/usb, where ext4 of /dev/sdb1 was`.
        public var words: String { "nothing is mounted at \(mountPoint), where \(name) was" }
    }

    private struct State {
        var table: MountTable
        /// In the order in which they were lost.
        var lost: [Lost] = []
        var changes = 0
    }

    /// `/proc/self/mountinfo`, through which the kernel reports changes; negative if it cannot be opened.
    private let file: Int32
    /// Whether the table contains the mounts of the files that this process opens. After a `chroot` it may not.
    private let listsOpenFiles: Bool
    private let state: Mutex<State>

    /// A limit, because machines with containers mount and unmount all the time.
    private static let mostLost = 1_000

    public init() {
        file = retryingInterrupts { open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC, 0) }
        let table = MountTable.read()
        state = Mutex(State(table: table))
        let root = retryingInterrupts { open("/", O_DIRECTORY | SystemFlag.placeOnly | O_CLOEXEC, 0) }
        let id = root >= 0 ? MountTable.mountID(of: root) : nil
        listsOpenFiles = table.mounts.contains { $0.id == id }
        if root >= 0 { close(root) }
    }

    deinit { if file >= 0 { close(file) } }

    /// Records what was mounted and unmounted since the last call. Returns a number that grows with each change.
    @discardableResult
    public func refresh() -> Int {
        state.withLock { state in
            var change = pollfd(fd: file, events: Int16(POLLPRI), revents: 0)
            // The kernel reports each change of the table once. Polling costs less than reading the table for each job.
            guard file >= 0, poll(&change, 1, 0) > 0, change.revents & Int16(POLLPRI | POLLERR) != 0 else {
                return state.changes
            }
            let now = MountTable.read()
            let present = Set(now.mounts.map(\.path))
            state.lost.removeAll { present.contains($0.mountPoint) }
            for mount in state.table.mounts where !present.contains(mount.path) {
                // An automounter unmounts idle file systems, and mounts them again when a file there is opened.
                guard now.mount(of: mount.path)?.kind != "autofs" else { continue }
                guard !state.lost.contains(where: { $0.mountPoint == mount.path }) else { continue }
                state.lost.append(Lost(mountPoint: mount.path, name: mount.name))
            }
            state.lost.removeFirst(max(0, state.lost.count - Self.mostLost))
            state.table = now
            state.changes += 1
            return state.changes
        }
    }

    /// Whether any mount is gone, as of the last `refresh`.
    package var hasLost: Bool { state.withLock { !$0.lost.isEmpty } }

    /// The lost mount on which the file at `location` lay; `nil` if there is none. A lost root as a whole is not
    /// reported here but by `StorageRoot.check`. Blocks.
    public func lost(under location: Location, of root: StorageRoot) -> Lost? {
        let (lost, table) = state.withLock { ($0.lost, $0.table) }
        guard !lost.isEmpty else { return nil }
        let path = RealPath.of(root.realPath + "/" + location.path)
        let mounted = table.mount(of: path)?.path.utf8.count ?? 0
        return lost.filter { lost in
            path.hasPrefix(lost.mountPoint + "/") && lost.mountPoint.utf8.count > mounted
                && !(root.realPath + "/").hasPrefix(lost.mountPoint + "/")
        }.max { $0.mountPoint.utf8.count < $1.mountPoint.utf8.count }
    }

    /// The name of the file system that is mounted at the mount point again; `nil` if there is none.
    public func mounted(at lost: Lost) -> String? {
        refresh()
        return state.withLock { $0.table.mounts.last { $0.path == lost.mountPoint }?.name }
    }

    /// Whether the file system of an open file is still mounted. If not, other processes cannot see what is written
    /// to it.
    public func isMounted(_ descriptor: Int32) -> Bool {
        guard listsOpenFiles, let id = MountTable.mountID(of: descriptor) else { return true }
        return state.withLock { $0.table.mounts.contains { $0.id == id } }
    }
}
