import Glibc

extension RoomChild {
    /// Processor time that the process has used, by the kernel's count; `nil` once it has ended.
    var cpuMicroseconds: Int64? {
        var (clock, time) = (clockid_t(), timespec())
        guard clock_getcpuclockid(id, &clock) == 0, clock_gettime(clock, &time) == 0 else { return nil }
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }
}
