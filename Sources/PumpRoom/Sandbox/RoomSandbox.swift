package import Conversion

/// How complete a room's lock must be.
public enum RoomSandbox: String, Sendable, Hashable, Codable, CaseIterable {
    /// The slot does not use a room whose lock lacks a layer: the start fails with the code `sandbox_unavailable`.
    case require
    /// The room goes without the layers that the kernel does not offer, and the worker warns.
    case bestEffort = "best-effort"
    /// No lock at all, to find out whether the lock causes a failure.
    case off
}

/// The slot's first message to its room.
package struct RoomRules: Codable, Hashable {
    /// The default rules.
    package static let usual = RoomRules()

    var sandbox = RoomSandbox.bestEffort
    /// Address space that the room may map in addition to what it has when it locks itself.
    var memoryBytes: Int64 = 1 << 30
    /// Processor time over the life of a room: a safety net. The limit of a single job is enforced elsewhere.
    var cpuSeconds: Int64 = 7 * 86_400
    /// The largest size of any file that the room writes.
    var fileBytes: Int64 = 1 << 40
    /// The formats that may be read; `nil` for all.
    package var formats: Set<SourceFormat>?
}
