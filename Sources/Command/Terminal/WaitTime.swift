import Glibc

/// Lengths of time as the kernel takes them.
enum WaitTime {
    /// Its two words are laid down as they are: with FoundationEssentials in the room, the compiler takes the type's members
    /// for those of a module that cannot be imported (Swift 6.3).
    static func milliseconds(_ count: Int) -> timespec {
        unsafeBitCast((count / 1_000, count % 1_000 * 1_000_000), to: timespec.self)
    }
}
