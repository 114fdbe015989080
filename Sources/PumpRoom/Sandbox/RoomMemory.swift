import CSandbox
import Glibc

/// What is opened on the way, sooner or later, by libraries that the work uses: done before the lock.
enum RoomMemory {
    static func prepare() {
        // One arena. A second one would be given back to the kernel in pieces, for which glibc reads a setting in /proc.
        mallopt(M_ARENA_MAX, 1)
        // Code that asks for the time of day looks for no file with time zones.
        setenv("TZ", "UTC0", 1)
        tzset()
    }
}
