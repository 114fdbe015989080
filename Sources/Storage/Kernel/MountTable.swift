import Glibc
import System

/// The mounts that this process sees.
struct MountTable {
    struct Mount: Hashable {
        /// The kernel's mount id, which an open file reports as well.
        let id: Int
        let path: String
        /// For example `ext4`, `nfs4` or `autofs`.
        let kind: String
        /// For messages, for example `ext4 of /dev/sdb1`.
        let name: String
    }

    /// In the order in which they were mounted.
    let mounts: [Mount]

    /// Empty if the kernel does not provide the table.
    static func read() -> MountTable { MountTable(contents(of: "/proc/self/mountinfo") ?? "") }

    /// Parses the text of `/proc/self/mountinfo`.
    init(_ text: String) { mounts = text.split(separator: "\n").compactMap(Self.mount) }

    /// Parses a line such as `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw`.
    private static func mount(_ line: Substring) -> Mount? {
        let fields = line.split(separator: " ", omittingEmptySubsequences: false)
        guard fields.count > 4, let id = Int(fields[0]), let dash = fields.firstIndex(of: "-"),
            dash + 2 < fields.endIndex
        else { return nil }
        let kind = String(fields[dash + 1])
        return Mount(
            id: id,
            path: unescaped(fields[4]),
            kind: kind,
            name: "\(kind) of \(unescaped(fields[dash + 2]))"
        )
    }

    /// Decodes octal escapes: the kernel writes a space as `\040`, and tabs, line feeds and backslashes likewise.
    private static func unescaped(_ field: Substring) -> String {
        let parts = field.split(separator: "\\", omittingEmptySubsequences: false)
        return parts.dropFirst().reduce(into: String(parts[0])) { text, part in
            guard let code = UInt8(part.prefix(3), radix: 8) else {
                text += "\\" + part
                return
            }
            text += String(UnicodeScalar(code)) + part.dropFirst(3)
        }
    }

    /// Whether anything is mounted below `folder`, not counting a mount at `folder` itself.
    func hasMounts(below folder: String) -> Bool {
        let start = folder == "/" ? "/" : folder + "/"
        return mounts.contains { $0.path.hasPrefix(start) && $0.path != folder }
    }

    /// The mount that `path` lies on.
    func mount(of path: String) -> Mount? {
        // Of several mounts at one path, the last one is visible.
        mounts.filter { $0.path == "/" || $0.path == path || path.hasPrefix($0.path + "/") }
            .reduce(nil) { best, next in (best?.path.utf8.count ?? -1) <= next.path.utf8.count ? next : best }
    }

    /// The id of the mount on which an open file lies; `nil` if the kernel does not report it.
    static func mountID(of descriptor: Int32) -> Int? {
        // mnt_id:	29
        let line = contents(of: "/proc/self/fdinfo/\(descriptor)")?.split(separator: "\n")
            .first { $0.hasPrefix("mnt_id:") }
        return line.flatMap { Int($0.drop { !$0.isNumber }) }
    }

    private static func contents(of path: String) -> String? {
        let opened = retryingInterrupts { open(path, O_RDONLY | O_CLOEXEC, 0) }
        guard opened >= 0 else { return nil }
        let file = Descriptor(adopting: opened)
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = retryingInterrupts { Glibc.read(file.number, &block, block.count) }
            guard count > 0 else { return count == 0 ? String(decoding: bytes, as: UTF8.self) : nil }
            bytes += block.prefix(count)
        }
    }
}
