import CSandbox
import Glibc

/// The user that the process runs as.
enum RoomUser {
    /// A range without accounts: systemd's list of ranges leaves it free, and adding the highest
    /// possible process id stays inside it.
    private static let firstOwn: UInt32 = 0x7000_0000
    /// Used where the range above is not mapped, as in containers with user namespaces.
    private static let nobody: UInt32 = 65_534

    private static let capSetGroups = 6
    private static let capSetUser = 7
    private static let capKill = 5

    static var isRoot: Bool { geteuid() == 0 }

    /// Changes to a user id that no other process has, and returns it. Falls back to 65534,
    /// which other processes may share.
    static func change() throws(RoomLock.Refusal) -> UInt32 {
        var (header, sets) = (versionThree, [__user_cap_data_struct](repeating: .init(), count: 2))
        guard sluice_capget(&header, &sets) == 0 else { throw RoomLock.Refusal(call: "capget") }
        for (bit, name) in [(capSetGroups, "CAP_SETGID"), (capSetUser, "CAP_SETUID"), (capKill, "CAP_KILL")] {
            // The slot has the same capabilities as this process. Without CAP_KILL it could not
            // kill a room of another user.
            guard sets[0].effective & 1 << bit != 0 else { throw RoomLock.Refusal("root lacks \(name) here") }
        }
        guard sluice_clear_groups() == 0 else { throw RoomLock.Refusal(call: "setgroups") }
        for user in [firstOwn + UInt32(getpid()), nobody] {
            guard sluice_setresgid(user) == 0 else { continue }
            guard sluice_setresuid(user) == 0 else { throw RoomLock.Refusal(call: "setresuid") }
            return user
        }
        throw RoomLock.Refusal(call: "setresgid")
    }

    /// Drops every capability, in case a user other than root was given some.
    static func dropCapabilities() throws(RoomLock.Refusal) {
        var header = versionThree
        let none = [__user_cap_data_struct](repeating: .init(), count: 2)
        guard sluice_capset(&header, none) == 0 else { throw RoomLock.Refusal(call: "capset") }
    }

    private static var versionThree: __user_cap_header_struct {
        __user_cap_header_struct(version: UInt32(_LINUX_CAPABILITY_VERSION_3), pid: 0)
    }
}
