/// How far a room has locked itself, as the room reports it.
public struct RoomLevel: Sendable, Hashable, Codable {
    /// A part of the lock. docs/security.md says what each one prevents.
    public enum Layer: String, Sendable, Hashable, Codable, CaseIterable {
        /// Executing a program never gains privileges.
        case noNewPrivileges = "no_new_privs"
        /// The process has no capabilities.
        case noCapabilities = "no_capabilities"
        /// A user id that no other process has, if root started the room.
        case ownUser = "own_user"
        /// Other processes of the same user cannot trace or read it, and it dumps no core.
        case notDumpable = "not_dumpable"
        /// Limits on memory, processor time, files and processes.
        case limits
        /// The process cannot open any path.
        case landlock
        /// Only a few system calls are allowed, and none that reaches outside.
        case seccomp
    }

    /// A layer that could not be applied.
    public struct Missing: Sendable, Hashable, Codable {
        public var layer: Layer
        public var reason: String
    }

    public var sandbox: RoomSandbox
    public var layers: [Layer] = []
    public var missing: [Missing] = []
    /// The version of the kernel's landlock; `nil` if it has none.
    public var landlockVersion: Int?
    /// The user that the room runs as.
    public var user: UInt32

    /// Whether every layer that this kernel and this user support is in place.
    public var isComplete: Bool {
        missing.isEmpty && Set(Layer.allCases).subtracting([.ownUser]).isSubset(of: layers)
    }

    /// A warning for the user; `nil` if the lock is complete.
    public var warning: String? {
        switch sandbox {
        case .off: "pump rooms are not sandboxed (--sandbox off)"
        case .require, .bestEffort:
            isComplete
                ? nil
                : "pump rooms are not fully sandboxed: "
                    + (missing.isEmpty
                        ? "some layers are missing"
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
    /// A level without any layer, for a rehearsal.
    package static let none = RoomLevel(sandbox: .bestEffort, user: 0)

    /// The level with texts and lists within their bounds. The slot applies this to what the room reports.
    package var bounded: RoomLevel {
        var level = self
        level.layers = Array(layers.prefix(Layer.allCases.count))
        level.missing = missing.prefix(Layer.allCases.count).map {
            Missing(layer: $0.layer, reason: $0.reason.shortened(to: Bound.name))
        }
        return level
    }
}
