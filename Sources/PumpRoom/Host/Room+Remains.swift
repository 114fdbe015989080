import Conversion
import Glibc

/// What a room leaves behind when it has ended.
struct RoomRemains {
    /// Jobs that it was given and had not begun, in order.
    var unbegun: [RoomJob] = []
    /// Why it never became ready; `nil` if it did.
    var startFailure: RoomFailure?
    /// Whether it worked at all. Rooms that repeatedly end without working are restarted only after a pause.
    var wasOfUse = false
}

extension Room {
    /// Finishes the job that the room was working on, and returns the others. Called once, after the room has ended.
    func remains() -> RoomRemains {
        guard isReady else {
            return RoomRemains(startFailure: RoomFailure(startFailure, lastWords: lastWords.text))
        }
        var remains = RoomRemains(wasOfUse: endedCount > 0)
        for sent in inFlight where !sent.isAbandoned {
            if let answer = sent.answer {
                // A room that cannot be killed may still write.
                if isStuck { sent.job.handBack() } else { answer() }
            } else if sent.hasBegun, case .distrusted? = endReason {
                remains.wasOfUse = true
                sent.job.handBack()
            } else if sent.hasBegun {
                remains.wasOfUse = true
                sent.job.fail(blame(sent))
            } else {
                remains.unbegun.append(sent.job)
            }
        }
        inFlight = []
        return remains
    }

    private func blame(_ sent: JobWatch) -> RoomFailure {
        RoomFailure(
            failure(of: sent),
            lastWords: lastWords.text,
            isRoomDeath: true,
            frames: sent.last?.frames,
            cost: cost(
                of: sent,
                WireCost(cpuMicroseconds: rest?.cpuMicroseconds ?? 0, peakBytes: rest?.peakBytes ?? 0)
            ),
            elapsed: sent.elapsed,
            quiet: sent.quiet
        )
    }

    private func failure(of sent: JobWatch) -> Failure {
        let last = sent.last
        switch endReason {
        case .stalled(let limit):
            return Failure(.roomStalled, "no frame was read for \(limit.seconds); the room was killed", after: last)
        case .disobeyed(let stop): return stop.failure(at: last) ?? .cancelledLate(last)
        case .brokeProtocol(let why):
            return Failure(.roomProtocol, "the room was killed because it broke the protocol: \(why)", after: last)
        // A room that died before the slot killed it has crashed, even if the slot was about to stop it.
        case .notReady, .notLocked, .mismatched, .distrusted, .dismissed, nil:
            let end = rest.map { describe($0.end) } ?? "a SIGKILL that has not taken effect"
            return Failure(.roomCrash, "the room crashed during the job: \(end)", after: last)
        }
    }

    /// Includes the system call if the room reports that its lock stopped one.
    private func describe(_ end: RoomChild.End) -> String {
        guard end == .signalled(SIGSYS), let call = LastCall.name(in: lastWords.text) else { return "\(end)" }
        return "\(end): the sandbox forbids the system call \(call)"
    }

    private var startFailure: Failure {
        if case .notLocked(let why) = endReason {
            return Failure(.sandboxUnavailable, at: .open, why)
        }
        if case .mismatched(let why) = endReason {
            return Failure(.roomStart, at: .open, "cannot start a room: \(why)", hint: RoomExecutable.hint)
        }
        let end = rest.map { "ended with \(describe($0.end))" } ?? "did not exit"
        let why =
            switch endReason {
            case .notReady: "the room was not ready within \(configuration.startLimit.seconds)"
            case .brokeProtocol(let why): why
            default: "the room \(end)"
            }
        return Failure(.roomStart, at: .open, "cannot start a room: \(why)")
    }
}

extension Failure {
    fileprivate static func cancelledLate(_ last: ConversionProgress?) -> Failure {
        Failure(.cancelled, "cancelled; the room did not stop and was killed", after: last)
    }
}
