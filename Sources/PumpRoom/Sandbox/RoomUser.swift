import CSandbox
import Glibc

/// Who the process is.
enum RoomUser {
    /// A range without accounts: systemd's list of ranges leaves it free, and the highest process id keeps it so.
    private static let firstOwn: UInt32 = 0x7000_0000
    /// Where the first is not mapped, as in containers with users of their own.
    private static let nobody: UInt32 = 65_534

    private static let capSetGroups = 6
    private static let capSetUser = 7
    private static let capKill = 5

    static var isRoot: Bool { geteuid() == 0 }

    /// Becomes a user whom no other process has, and returns its number.
    static func change() throws(RoomLock.Refusal) -> UInt32 {
        var (header, sets) = (versionThree, [__user_cap_data_struct](repeating: .init(), count: 2))
        guard sluice_capget(&header, &sets) == 0 else { throw RoomLock.Refusal(call: "capget") }
        for (bit, name) in [(capSetGroups, "CAP_SETGID"), (capSetUser, "CAP_SETUID"), (capKill, "CAP_KILL")] {
            // The slot has the same capabilities as this process; without the last one it could not kill a room of another user.
            guard sets[0].effective & 1 << bit != 0 else { throw RoomLock.Refusal("this root has no \(name)") }
        }
        guard sluice_clear_groups() == 0 else { throw RoomLock.Refusal(call: "setgroups") }
        for user in [firstOwn + UInt32(getpid()), nobody] {
            guard sluice_setresgid(user) == 0 else { continue }
            guard sluice_setresuid(user) == 0 else { throw RoomLock.Refusal(call: "setresuid") }
            return user
        }
        throw RoomLock.Refusal(call: "setresgid")
    }

    /// Gives up every capability that a user who is not root may have been given.
    static func dropCapabilities() throws(RoomLock.Refusal) {
        var header = versionThree
        let none = [__user_cap_data_struct](repeating: .init(), count: 2)
        guard sluice_capset(&header, none) == 0 else { throw RoomLock.Refusal(call: "capset") }
    }

    private static var versionThree: __user_cap_header_struct {
        __user_cap_header_struct(version: UInt32(_LINUX_CAPABILITY_VERSION_3), pid: 0)
    }
}
