import Glibc

extension WireCost {
    /// What this process has used so far.
    package static func now() -> WireCost {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        return WireCost(cpuMicroseconds: usage.cpuMicroseconds, peakBytes: Int64(usage.ru_maxrss) << 10)
    }
}
