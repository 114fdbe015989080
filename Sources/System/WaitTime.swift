package import Glibc

/// Lengths of time in the kernel's format.
package enum WaitTime {
    /// Builds the value from its two words: with FoundationEssentials in the module, the compiler takes the type's
    /// members for those of a module that cannot be imported (Swift 6.3).
    package static func milliseconds(_ count: Int) -> timespec {
        unsafeBitCast((count / 1_000, count % 1_000 * 1_000_000), to: timespec.self)
    }
}
