import CSandbox
import Glibc

/// What is opened on the way, sooner or later, by libraries that the work uses: done before the lock.
enum RoomMemory {
    static func prepare() {
        // One arena. A second one would be given back to the kernel in pieces, for which glibc reads a setting in /proc.
        mallopt(M_ARENA_MAX, 1)
        // Whoever asks for the time of day finds no time zone to read.
        setenv("TZ", "UTC0", 1)
        tzset()
    }
}
