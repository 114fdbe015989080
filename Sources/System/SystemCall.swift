import CSystem
import Glibc

/// Functions of glibc and the kernel that Swift's Glibc module lacks. Each returns what the C function returns, and
/// leaves the reason for a failure in `errno`.
package enum SystemCall {
    /// A descriptor of `path` below `folder`, which neither `..` nor a link can leave (openat2, since Linux 5.6).
    package static func openBeneath(_ folder: Int32, _ path: String, _ flags: Int32) -> Int32 {
        // RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS.
        sluice_openat2(folder, path, UInt64(UInt32(bitPattern: flags)), 0, 0x08 | 0x02)
    }

    /// Renames a file, and fails with EEXIST if the new name is taken.
    package static func renameKeepingOthers(_ old: String, in folder: Int32, to new: String, in other: Int32) -> Int32 {
        renameat2(folder, old, other, new, SLUICE_RENAME_NOREPLACE)
    }

    /// Flushes the file system of `descriptor`.
    package static func flushFileSystem(of descriptor: Int32) -> Int32 { syncfs(descriptor) }

    /// Waits for the pages of a file that are being written to the disk already.
    package static func waitForWrites(of descriptor: Int32) -> Int32 {
        sync_file_range(descriptor, 0, 0, SLUICE_SYNC_FILE_RANGE_WAIT_BEFORE)
    }

    /// The number from <linux/magic.h> of the file system of `descriptor`; 0 if the kernel does not report it.
    package static func fileSystemMagic(of descriptor: Int32) -> UInt64 {
        UInt64(sluice_file_system_magic(descriptor))
    }

    package static func attribute(_ name: String, of descriptor: Int32, into bytes: inout [UInt8]) -> Int {
        fgetxattr(descriptor, name, &bytes, bytes.count)
    }

    /// The value of an extended attribute; `nil` if the file does not have it.
    package static func attribute(_ name: String, of descriptor: Int32) -> [UInt8]? {
        // No value is longer.
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = attribute(name, of: descriptor, into: &bytes)
        return count < 0 ? nil : Array(bytes.prefix(count))
    }

    /// The names of the extended attributes of an open file; none if its file system has none.
    package static func attributeNames(of descriptor: Int32) -> [String] {
        // No list is longer.
        var bytes = [CChar](repeating: 0, count: 1 << 16)
        let count = flistxattr(descriptor, &bytes, bytes.count)
        guard count > 0 else { return [] }
        // Each ends with a NUL.
        return bytes.prefix(count).split(separator: 0).map { name in
            String(decoding: name.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    package static func removeAttribute(_ name: String, of descriptor: Int32) -> Int32 {
        fremovexattr(descriptor, name)
    }

    /// The number of the group `name`; `nil` if there is none on this machine.
    package static func groupNumber(of name: String) -> UInt32? {
        var entry = group()
        var found: UnsafeMutablePointer<group>?
        // Names of a directory service may come with many members.
        var space = [CChar](repeating: 0, count: 1 << 20)
        return getgrnam_r(name, &entry, &space, space.count, &found) == 0 ? found?.pointee.gr_gid : nil
    }

    /// Whether an open file or folder has an access list (ACL) besides its mode.
    package static func hasAccessList(_ descriptor: Int32) -> Bool {
        fgetxattr(descriptor, "system.posix_acl_access", nil, 0) > 0
    }

    package static func setAttribute(_ name: String, of descriptor: Int32, to bytes: [UInt8]) -> Int32 {
        fsetxattr(descriptor, name, bytes, bytes.count, 0)
    }

    /// A descriptor that is readable once the process has ended (pidfd_open, since Linux 5.3).
    package static func processHandle(_ process: Int32) -> Int32 { sluice_pidfd_open(process) }

    /// Makes a process that is started with `actions`, a `posix_spawn_file_actions_t`, close all descriptors from `first`
    /// on. The type cannot be named here: for importers it is Glibc's, and in this module the C door's.
    package static func closeDescriptors(from first: Int32, in actions: UnsafeMutableRawPointer) {
        // It fails only if there is no memory for the action, and then starting the process fails, too.
        _ = posix_spawn_file_actions_addclosefrom_np(
            actions.assumingMemoryBound(to: posix_spawn_file_actions_t.self),
            first
        )
    }

    /// Closes all descriptors of this process from `first` on, apart from `kept`. Only for a process that has opened none of
    /// them itself.
    package static func closeDescriptors(from first: Int32, keeping kept: Set<Int32> = []) {
        // Linux 5.8 and earlier, and some sandboxes, lack the call. /proc names the open descriptors, one by one.
        guard !kept.isEmpty || sluice_close_from(UInt32(first)) != 0, let folder = opendir("/proc/self/fd")
        else { return }
        var numbers: [Int32] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
            }
            if let number = Int32(name), number >= first, !kept.contains(number) { numbers.append(number) }
        }
        closedir(folder)
        // That of the folder is among them, and closed already.
        for number in numbers { close(number) }
    }

    /// How many columns a terminal gives to a character; -1 for one that cannot be printed.
    package static func columns(of scalar: Unicode.Scalar) -> Int { Int(wcwidth(wchar_t(scalar.value))) }
}

/// Flags of calls that Swift's Glibc module lacks.
package enum SystemFlag {
    /// O_TMPFILE: a file without a name.
    package static let unnamedFile = SLUICE_O_TMPFILE
    /// O_PATH: a descriptor that refers to a path but cannot read.
    package static let placeOnly = SLUICE_O_PATH
    /// F_SETSIG and F_SETLEASE.
    package static let setSignal = SLUICE_F_SETSIG
    package static let setLease = SLUICE_F_SETLEASE
    package static let seekHole = SLUICE_SEEK_HOLE
    /// FNM_CASEFOLD: `fnmatch` takes capitals for small letters.
    package static let anyCase = SLUICE_FNM_CASEFOLD
}
