import Glibc

extension RoomChild {
    /// Processor time that it has used, as the kernel counts it; `nil` once it is over.
    var cpuMicroseconds: Int64? {
        var (clock, time) = (clockid_t(), timespec())
        guard clock_getcpuclockid(id, &clock) == 0, clock_gettime(clock, &time) == 0 else { return nil }
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }
}
