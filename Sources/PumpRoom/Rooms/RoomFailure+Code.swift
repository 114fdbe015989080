public import Conversion

extension RoomFailure {
    /// What goes wrong with rooms, as docs/errors.md has it. What goes wrong in them has `MediaError`'s codes.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The room ended in the middle of the job.
        case crash = "room_crash"
        /// The job took no frame for too long.
        case stalled = "room_stalled"
        /// The room said what no room of ours says.
        case brokenProtocol = "room_protocol"
        /// No room could be started.
        case notStarted = "room_start"
        /// No room could be locked as far as is required.
        case notLocked = "sandbox_unavailable"
        /// The job took longer than it may.
        case deadlineExceeded = "deadline_exceeded"
        /// The job fell behind the pace that the worker asks of it, which another machine may keep.
        case tooSlow = "too_slow"

        /// What another try is worth.
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
    /// A failure of a room, at the place where it was heard of last.
    init(_ code: RoomFailure.Code, _ message: String, at last: ConversionProgress? = nil, hint: String? = nil) {
        self.init(
            code: code.rawValue,
            kind: code.kind,
            // Before the first frame a source is being opened and probed; what comes then is one thing to a watcher.
            stage: last == nil ? "open" : "decode",
            message: message,
            position: last?.position,
            frame: last?.frames,
            hint: hint
        )
    }
}
