public import Conversion

extension RoomFailure {
    /// Codes for failures of rooms, as docs/errors.md lists them. Failures of conversions in
    /// rooms have `MediaError`'s codes.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The room ended in the middle of the job.
        case crash = "room_crash"
        /// The job took no frame for too long.
        case stalled = "room_stalled"
        /// The room sent a message that no room of ours sends.
        case brokenProtocol = "room_protocol"
        /// No room could be started.
        case notStarted = "room_start"
        /// No room could be locked as far as required.
        case notLocked = "sandbox_unavailable"
        /// The job took longer than it may.
        case deadlineExceeded = "deadline_exceeded"
        /// The job fell behind the pace that the worker requires. A faster machine may keep it.
        case tooSlow = "too_slow"

        /// Whether a retry is worthwhile.
        public var kind: Failure.Kind {
            switch self {
            case .crash, .stalled, .brokenProtocol, .tooSlow: .transient
            case .notStarted, .notLocked: .infrastructure
            case .deadlineExceeded: .permanent
            }
        }
    }
}

extension Failure {
    /// A failure of a room, at the last position that it reported.
    init(_ code: RoomFailure.Code, _ message: String, at last: ConversionProgress? = nil, hint: String? = nil) {
        self.init(
            code: code.rawValue,
            kind: code.kind,
            // Before the first frame, the room opens and probes the source. The slot cannot
            // tell the later stages apart.
            stage: last == nil ? "open" : "decode",
            message: message,
            position: last?.position,
            frame: last?.frames,
            hint: hint
        )
    }
}
