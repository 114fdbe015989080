import CSandbox
import Glibc
import System

/// The kernel's access rules for paths and sockets, used here with no exceptions: everything is denied.
enum Landlock {
    /// Denies everything that the running kernel can deny. Returns the version of its landlock.
    static func denyAll() throws(RoomLock.Refusal) -> Int {
        let version = sluice_landlock_create_ruleset(nil, 0, SLUICE_LANDLOCK_VERSION)
        guard version > 0 else {
            throw RoomLock.Refusal(
                errno == ENOSYS || errno == EOPNOTSUPP ? "not supported by this kernel" : systemText(errno)
            )
        }
        var rules = sluice_landlock_rules()
        rules.handled_access_fs = (1 << fileRightCount(version)) - 1
        // Binding and connecting over TCP, since version 4.
        rules.handled_access_net = version >= 4 ? 0b11 : 0
        // Connecting to abstract unix sockets and signalling processes outside, since version 6.
        rules.scoped = version >= 6 ? 0b11 : 0
        let file = sluice_landlock_create_ruleset(&rules, MemoryLayout<sluice_landlock_rules>.size, 0)
        guard file >= 0 else { throw RoomLock.Refusal(call: "landlock_create_ruleset") }
        defer { close(Int32(file)) }
        guard sluice_landlock_restrict_self(Int32(file)) == 0 else {
            throw RoomLock.Refusal(call: "landlock_restrict_self")
        }
        return version
    }

    /// File rights are bits numbered from 0; later versions add more.
    private static func fileRightCount(_ version: Int) -> UInt64 {
        switch version {
        case 1: 13
        // Linking to and from elsewhere.
        case 2: 14
        // Truncating.
        case 3, 4: 15
        // Controlling devices.
        default: 16
        }
    }
}
