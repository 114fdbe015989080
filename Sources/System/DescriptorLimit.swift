import CSystem

/// How many descriptors this process may have open.
package enum DescriptorLimit {
    /// Raises the limit to `most`, as far as the administrator allows. Never lowers it.
    ///
    /// The usual limit of 1,024 is for programs that call `select`, which none of ours does.
    package static func raise(to most: UInt64) {
        var (soft, hard): (UInt64, UInt64) = (0, 0)
        guard sluice_descriptor_limits(&soft, &hard) == 0, soft < min(most, hard) else { return }
        // Cannot fail: a process may always move its limit below the administrator's.
        _ = sluice_set_descriptor_limit(min(most, hard), hard)
    }
}
