import CSandbox
import Glibc

/// Settings that keep the libraries from opening files later. They must be made before the lock closes.
package enum RoomMemory {
    package static func prepare() {
        // One arena. To shrink a second one, glibc would read a setting in /proc.
        mallopt(M_ARENA_MAX, 1)
        // With TZ set, functions for local time do not look for time zone files.
        setenv("TZ", "UTC0", 1)
        tzset()
    }
}
