import Glibc

/// The measurements of one run. The floor program prints the same fields.
struct Figures {
    var files = 0
    var frames: Int64 = 0
    var bytes: Int64 = 0
    /// User and system time of the conversions, without the start of the program.
    var cpuSeconds = 0.0
    var wallSeconds = 0.0
    /// The program's peak memory. getrusage would include the parent's memory before exec.
    var peakKiB = 0
    /// Resident memory after the hundredth conversion and after the last, if one file is converted repeatedly.
    var hundredthKiB: Int?
    var lastKiB: Int?

    /// One line of JSON.
    var line: String {
        var line = "{\"files\":\(files),\"frames\":\(frames),\"bytes\":\(bytes),\"cpuSeconds\":\(cpuSeconds)"
        line += ",\"wallSeconds\":\(wallSeconds),\"peakKiB\":\(peakKiB)"
        if let hundredthKiB { line += ",\"hundredthKiB\":\(hundredthKiB)" }
        if let lastKiB { line += ",\"lastKiB\":\(lastKiB)" }
        return line + "}"
    }
}

/// The resource usage of this process so far.
enum Usage {
    static var cpuSeconds: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let (user, system) = (usage.ru_utime, usage.ru_stime)
        return Double(user.tv_sec + system.tv_sec) + Double(user.tv_usec + system.tv_usec) / 1e6
    }

    /// The kernel's high-water mark for this program alone.
    static var peakKiB: Int { kibibytes("VmHWM:") }

    static var residentKiB: Int { kibibytes("VmRSS:") }

    private static func kibibytes(_ name: String) -> Int {
        let descriptor = open("/proc/self/status", O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor, &bytes, bytes.count)
        let lines = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: "\n")
        let digits = lines.first { $0.hasPrefix(name) }?.drop { !$0.isNumber }.prefix { $0.isNumber }
        return digits.flatMap { Int($0) } ?? 0
    }
}
