import Glibc
import System

/// Resource limits of the process.
enum ProcessLimits {
    /// Two for each of up to 64 jobs with one source, or all sources of the eight jobs that may wait, and some for the
    /// room itself.
    private static let descriptorLimit = UInt64(9 * Datagram.descriptorLimit + 32)

    static func set(_ rules: RoomRules) throws(RoomLock.Refusal) {
        let mapped = try mappedBytes()
        let wanted: [(resource: ResourceLimit, limit: UInt64)] = [
            (.coreFile, 0),
            (.addressSpace, mapped + UInt64(clamping: rules.memoryBytes)),
            (.processorTime, UInt64(clamping: rules.cpuSeconds)),
            (.fileSize, UInt64(clamping: rules.fileBytes)),
            (.descriptors, descriptorLimit),
        ]
        for (resource, limit) in wanted {
            guard resource.lower(to: limit) else { throw RoomLock.Refusal(call: resource.rawValue) }
        }
    }

    /// Forbids new processes and threads. The system call filter does so too, and for root as well; this is
    /// for kernels without seccomp.
    static func forbidProcesses() { _ = ResourceLimit.processes.lower(to: 0) }

    /// Address space that is mapped so far, mostly libraries, of which debug builds have many.
    private static func mappedBytes() throws(RoomLock.Refusal) -> UInt64 {
        let file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw RoomLock.Refusal(call: "/proc/self/statm") }
        defer { close(file) }
        var text = [UInt8](repeating: 0, count: 64)
        let count = retryingInterrupts { read(file, &text, text.count) }
        guard count > 0, let pages = UInt64(String(decoding: text[..<count].prefix { $0 != 0x20 }, as: UTF8.self))
        else {
            throw RoomLock.Refusal("/proc/self/statm has an unexpected format")
        }
        return pages * UInt64(sysconf(Int32(_SC_PAGESIZE)))
    }
}
