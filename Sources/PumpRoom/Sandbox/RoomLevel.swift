/// How far a room has locked itself, as it says.
public struct RoomLevel: Sendable, Hashable, Codable {
    /// A part of the lock. What each keeps out is in docs/security.md.
    public enum Layer: String, Sendable, Hashable, Codable, CaseIterable {
        /// Whatever is executed, nothing is gained by it.
        case noNewPrivileges = "no_new_privs"
        /// No capability is left.
        case noCapabilities = "no_capabilities"
        /// A user of its own, where the room was started by root.
        case ownUser = "own_user"
        /// Not to be traced or read by others of its user, and no core dump.
        case notDumpable = "not_dumpable"
        /// Bounds on memory, processor time, files and processes.
        case limits
        /// No path can be opened.
        case landlock
        /// Few system calls are left, and none that reaches out.
        case seccomp
    }

    /// A layer that could not be had.
    public struct Missing: Sendable, Hashable, Codable {
        public var layer: Layer
        public var reason: String
    }

    public var sandbox: RoomSandbox
    public var layers: [Layer] = []
    public var missing: [Missing] = []
    /// Of the kernel's landlock; `nil` where there is none.
    public var landlockVersion: Int?
    /// The user that the room runs as.
    public var user: UInt32

    /// Whether every layer that this kernel and this user can have is there.
    public var isComplete: Bool {
        missing.isEmpty && Set(Layer.allCases).subtracting([.ownUser]).isSubset(of: layers)
    }

    /// What people should hear of it; `nil` where nothing is amiss.
    public var warning: String? {
        switch sandbox {
        case .off: "pump rooms are not locked, as asked for"
        case .require, .bestEffort:
            isComplete
                ? nil
                : "pump rooms are not fully locked: "
                    + (missing.isEmpty
                        ? "not all layers are there"
                        : missing.map { "no \($0.layer.rawValue) (\($0.reason))" }.joined(separator: ", "))
        }
    }
}

extension RoomLevel: CustomStringConvertible {
    /// `no_new_privs, no_capabilities, not_dumpable, limits, landlock 7, seccomp`
    public var description: String {
        guard sandbox != .off else { return "off" }
        let there = layers.map { layer in
            switch layer {
            case .landlock: landlockVersion.map { "landlock \($0)" } ?? "landlock"
            case .ownUser: "own_user \(user)"
            default: layer.rawValue
            }
        }
        return (there + missing.map { "without \($0.layer.rawValue)" }).joined(separator: ", ")
    }
}

extension RoomLevel {
    /// The level with texts within their bounds, as a slot takes it from a room.
    var bounded: RoomLevel {
        var level = self
        level.layers = Array(layers.prefix(Layer.allCases.count))
        level.missing = missing.prefix(Layer.allCases.count).map {
            Missing(layer: $0.layer, reason: $0.reason.shortened(to: Bound.name))
        }
        return level
    }
}
