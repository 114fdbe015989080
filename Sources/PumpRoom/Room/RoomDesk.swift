import Conversion
import Dispatch
import Glibc
import Synchronization

/// Where a room's requests come in and its answers go out: a thread takes them in, another carries them out, in order.
final class RoomDesk: Sendable {
    private struct Request {
        let job: Int64
        let task: Task
        let source: Descriptor
        /// `nil` where nothing is written.
        let destination: Descriptor?
    }

    /// What a request comes to.
    private enum Task {
        case convert(RecipeConversion, streams: Bool)
        case probe(SourceProbe, scans: Bool, fits: Bool)

        /// Processor time of the room after which opening the source has taken too long; `nil` where it may take any.
        var openLimit: Duration? {
            switch self {
            case .convert(let conversion, _): conversion.openSeconds.map { .seconds($0) }
            case .probe(let probe, _, _): probe.openSeconds.map { .seconds($0) }
            }
        }

        var hasOpened: Bool {
            switch self {
            case .convert(let conversion, _): conversion.hasOpened
            case .probe(let probe, _, _): probe.hasOpened
            }
        }

        func stop() {
            switch self {
            case .convert(let conversion, _): conversion.stop()
            case .probe(let probe, _, _): probe.stop()
            }
        }
    }

    private struct State {
        var waiting: [Request] = []
        /// The only one who holds its descriptors, so that to forget it is to close them.
        var current: Request?
        /// What the room had used when it began the current one.
        var spentBefore = Duration.zero
        /// When the progress of the current one was last said; `nil` before the first time.
        var lastReport: ContinuousClock.Instant?
        /// Where it is since then. Said by the listener, if nothing else comes: behind a pipe that has fallen silent too.
        var unsaid: ConversionProgress?
    }

    /// Often enough for a progress bar, and for the slot that watches whether the room is alive.
    private static let progressInterval = Duration.milliseconds(100)

    private let socket: Int32
    private let state = Mutex(State())
    private let bell = DispatchSemaphore(value: 0)
    /// Opened once the process is locked.
    private let gate = DispatchSemaphore(value: 0)

    init(socket: Int32) { self.socket = socket }

    /// Waits for the first message of a slot. A slot that hangs up instead wants no room.
    static func hearRules(on socket: Int32) -> RoomRules {
        var buffer = [UInt8](repeating: 0, count: Datagram.byteLimit)
        switch Datagram.receive(from: socket, into: &buffer, takesDescriptors: false, waits: true) {
        case .message(let bytes, _):
            guard case .settle(let rules)? = try? WireCoder().message(RoomRequest.self, in: bytes) else {
                RoomProcess.giveUp("a first request that is not about the lock")
            }
            return rules
        case .ended: _exit(0)
        case .nothing: RoomProcess.giveUp("a socket that does not wait")
        case .broken(let why): RoomProcess.giveUp("a request that cannot be read: \(why)")
        }
    }

    /// Starts the threads that will take requests in and carry them out. When this returns they wait for the hello, with no
    /// system call before it that a lock could forbid.
    ///
    /// The process's first thread does neither: in a room that a nursery has made it is a copy, and Swift's locks know it by the
    /// nursery's number.
    func startThreads() {
        let haveStarted = DispatchSemaphore(value: 0)
        let bodies: [(name: String, run: @Sendable () -> Void)] = [
            ("room listener", { self.listen() }), ("room worker", { self.work() }),
        ]
        for body in bodies {
            RoomThread.start(body.name) { [self] in
                haveStarted.signal()
                gate.wait()
                body.run()
            }
            haveStarted.wait()
        }
    }

    /// Says hello and has the threads work, until the other end hangs up.
    func open(_ level: RoomLevel) -> Never {
        say(.hello(version: wireVersion, level: level.bounded), WireCoder())
        for _ in 0..<2 { gate.signal() }
        while true { DispatchSemaphore(value: 0).wait() }
    }

    private func work() -> Never {
        let coder = WireCoder()
        while true {
            bell.wait()
            // What was stopped meanwhile has been answered.
            guard let next = takeNext() else { continue }
            say(.begun(job: next.job, spent: .now()), coder)
            carryOut(next, coder)
        }
    }

    /// The request under way, as the working thread needs it.
    private struct Errand {
        let job: Int64
        let task: Task
        let source: Int32
        let destination: Int32
    }

    private func takeNext() -> Errand? {
        state.withLock { state in
            guard !state.waiting.isEmpty else { return nil }
            let request = state.waiting.removeFirst()
            state.spentBefore = .microseconds(WireCost.now().cpuMicroseconds)
            state.current = request
            return Errand(
                job: request.job,
                task: request.task,
                source: request.source.number,
                destination: request.destination?.number ?? -1
            )
        }
    }

    private func carryOut(_ errand: Errand, _ coder: WireCoder) {
        let job = errand.job
        let report: (ConversionProgress) -> Void = { progress in
            self.state.withLock { state in
                state.unsaid = progress.bounded
                self.sayWhatIsDue(&state, coder)
            }
        }
        let result = Result { () throws(Failure) -> (WireCost) -> RoomReply in
            switch errand.task {
            case .convert(let conversion, let streams):
                let report = try conversion.run(
                    from: errand.source,
                    to: errand.destination,
                    streaming: streams,
                    report: report
                ).bounded
                return { .converted(job: job, report, $0) }
            case .probe(let probe, let scans, let fits):
                let description = try probe.describe(errand.source, scanning: scans, fitting: fits, report: report)
                return { self.fitting(description, job, $0, coder) }
            }
        }
        // Once it hears of the end, the worker may close and publish: the room lets go first.
        state.withLock { ($0.current, $0.lastReport, $0.unsaid) = (nil, nil, nil) }
        switch result {
        case .success(let reply): say(reply(.now()), coder)
        case .failure(let failure): say(.failed(job: job, failure.bounded, .now()), coder)
        }
    }

    /// Says how far the current request is, if there is news and the last time is long enough ago. With the lock held, so that
    /// nothing is said of a request whose end has been.
    private func sayWhatIsDue(_ state: inout State, _ coder: WireCoder) {
        let now = ContinuousClock.now
        guard let progress = state.unsaid, let job = state.current?.job,
            state.lastReport.map({ now - $0 >= Self.progressInterval }) ?? true
        else { return }
        (state.unsaid, state.lastReport) = (nil, now)
        // A slot that has no time for it now does not need it.
        say(.progress(job: job, progress), coder, waits: false)
    }

    /// `report` as it fits into a message: whole, if it can be, or with less and less of tags and chapters.
    private func fitting(_ report: SourceReport, _ job: Int64, _ cost: WireCost, _ coder: WireCoder) -> RoomReply {
        var (count, bytes) = (2_048, 64 << 10)
        while true {
            let reply = RoomReply.described(job: job, report.bounded(count: count, bytes: bytes), cost)
            // The sender reports what cannot be encoded at all.
            guard let size = try? coder.bytes(reply).count, size > Datagram.byteLimit, count > 1 else { return reply }
            (count, bytes) = (max(1, count / 2), max(Bound.name, bytes / 2))
        }
    }

    // MARK: - Listening

    private func listen() -> Never {
        let coder = WireCoder()
        var buffer = [UInt8](repeating: 0, count: Datagram.byteLimit)
        while true {
            // While something is under way it may leave news behind that it has no time to say.
            let isWorking = state.withLock { $0.current != nil || !$0.waiting.isEmpty }
            var waited = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            let interval = Int32(Self.progressInterval / .milliseconds(1))
            let heard = retryingInterrupts { Int(poll(&waited, 1, isWorking ? interval : -1)) }
            state.withLock { state in
                sayWhatIsDue(&state, coder)
                endLateOpening(state, coder)
            }
            // Rung only when `hear` has returned: the thread that carries a request out then holds its descriptors alone.
            if heard > 0, hear(&buffer, coder) == .request { bell.signal() }
        }
    }

    /// By so much more than its limit opening takes where it does not end by itself.
    private static let openingGrace = Duration.milliseconds(500)

    /// Ends the room where libav is lost in a header: it reads nothing there, and so hears of no limit. With the lock held, so
    /// that nothing else is said of the job.
    private func endLateOpening(_ state: State, _ coder: WireCoder) {
        guard let current = state.current, let limit = current.task.openLimit, !current.task.hasOpened else { return }
        let spent = WireCost.now()
        guard .microseconds(spent.cpuMicroseconds) - state.spentBefore > limit + Self.openingGrace else { return }
        say(.failed(job: current.job, .openSecondsExceeded, spent), coder)
        // What waits here goes to the next room, unspent.
        _exit(0)
    }

    private enum Heard { case request, stop }

    /// Waits for one message. A function of its own, so that no descriptor of the last one outlives it in a local variable.
    @inline(never)
    private func hear(_ buffer: inout [UInt8], _ coder: WireCoder) -> Heard {
        switch Datagram.receive(from: socket, into: &buffer, takesDescriptors: true, waits: true) {
        case .message(let bytes, let descriptors): return take(bytes, descriptors, coder)
        case .ended: _exit(0)
        case .nothing: RoomProcess.giveUp("a socket that does not wait")
        case .broken(let why): RoomProcess.giveUp("a request that cannot be read: \(why)")
        }
    }

    private func take(_ bytes: [UInt8], _ descriptors: [Descriptor], _ coder: WireCoder) -> Heard {
        let request: RoomRequest
        do {
            request = try coder.message(RoomRequest.self, in: bytes)
        } catch {
            RoomProcess.giveUp("a request that cannot be read: \(error)")
        }
        switch request {
        case .convert(let job, let recipe, let streams):
            guard descriptors.count == 2 else { RoomProcess.giveUp("a request without its descriptors") }
            return take(
                Request(
                    job: job,
                    task: .convert(RecipeConversion(recipe), streams: streams),
                    source: descriptors[0],
                    destination: descriptors[1]
                )
            )
        case .probe(let job, let wanted):
            guard descriptors.count == 1 else { RoomProcess.giveUp("a request without its descriptor") }
            let probe = SourceProbe(nameHint: wanted.nameHint, raw: wanted.raw, limits: wanted.limits)
            return take(
                Request(
                    job: job,
                    task: .probe(probe, scans: wanted.scans, fits: wanted.fitsPresets),
                    source: descriptors[0],
                    destination: nil
                )
            )
        case .stop(let job):
            stop(job, coder)
            return .stop
        case .settle: RoomProcess.giveUp("a second request about the lock")
        }
    }

    private func take(_ request: Request) -> Heard {
        state.withLock { $0.waiting.append(request) }
        return .request
    }

    private func stop(_ job: Int64, _ coder: WireCoder) {
        let hadNotBegun = state.withLock { state in
            if let place = state.waiting.firstIndex(where: { $0.job == job }) {
                state.waiting.remove(at: place)
                return true
            }
            if let current = state.current, current.job == job { current.task.stop() }
            return false
        }
        if hadNotBegun { say(.failed(job: job, .cancelledBeforeItBegan, .now()), coder) }
    }

    // MARK: - Speaking

    private func say(_ reply: RoomReply, _ coder: WireCoder, waits: Bool = true) {
        let bytes: [UInt8]
        do {
            bytes = try coder.bytes(reply)
        } catch {
            RoomProcess.giveUp("an answer that cannot be written: \(error)")
        }
        switch Datagram.send(bytes, to: socket, waits: waits) {
        case .sent: break
        case .full where !waits: break
        // The slot has hung up.
        case .gone: _exit(0)
        case .full: RoomProcess.giveUp("a socket that does not wait")
        case .refused(let error): RoomProcess.giveUp("an answer that cannot be sent: \(error.text)")
        }
    }
}

extension WireCost {
    /// What this process has used so far.
    static func now() -> WireCost {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        return WireCost(cpuMicroseconds: usage.cpuMicroseconds, peakBytes: Int64(usage.ru_maxrss) << 10)
    }
}
