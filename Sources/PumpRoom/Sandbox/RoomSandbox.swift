/// How much of its lock a room needs.
public enum RoomSandbox: String, Sendable, Hashable, Codable, CaseIterable {
    /// A room whose lock lacks a layer is not used: the start fails with the code `sandbox_unavailable`.
    case require
    /// What the kernel does not offer is gone without, and warned of.
    case bestEffort = "best-effort"
    /// No lock at all: for finding out what the lock has to do with a failure.
    case off
}

/// What a slot tells its room before anything else.
struct RoomRules: Codable, Hashable {
    var sandbox = RoomSandbox.bestEffort
    /// Address space that the room may take beyond what it has when it locks itself.
    var memoryBytes: Int64 = 1 << 30
    /// Processor time in the life of a room. What single jobs may take is counted elsewhere; this is the net below.
    var cpuSeconds: Int64 = 7 * 86_400
    /// No file becomes larger.
    var fileBytes: Int64 = 1 << 40
}
