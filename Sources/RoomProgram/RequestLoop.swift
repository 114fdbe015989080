import Conversion
import Dispatch
import Glibc
import PumpRoom
import Synchronization
import System

/// The request loop of a room: one thread receives requests, another carries them out in order and sends the replies.
final class RequestLoop: Sendable {
    /// A job that this room has received and not finished.
    private struct ReceivedJob {
        /// Carries the job out, and returns the replies to send. It holds the numbers of the descriptors, but does not
        /// own them.
        typealias Body =
            @Sendable (_ report: @escaping (ConversionProgress) -> Void, WireCoder) throws(Failure)
            -> (WireCost) -> [RoomReply]

        let id: Int64
        let work: any StoppableWork
        let body: Body
        /// The only references to the descriptors, so dropping the job closes them.
        let descriptors: [SharedDescriptor]
    }

    private struct State {
        var waiting: [ReceivedJob] = []
        var current: ReceivedJob?
        /// The processor time that the room had used when it began the current job.
        var spentBefore = Duration.zero
        /// When the last progress of the current job was sent; `nil` before the first time.
        var lastReport: ContinuousClock.Instant?
        /// Progress that has not been sent yet. The listening thread sends it even if the conversion reports nothing
        /// more, for example because its pipe has gone silent.
        var unsaid: ConversionProgress?
    }

    /// Often enough for a progress bar, and for the slot to see that the room is alive.
    private static let progressInterval = Duration.milliseconds(100)

    private let socket: Int32
    /// That of the last `convert`. Only the listening thread uses it.
    private let recipe = Mutex<Recipe?>(nil)
    private let state = Mutex(State())
    private let fetched = FetchedSources()
    /// Signalled for each received job.
    private let received = DispatchSemaphore(value: 0)
    /// Signalled once the process is locked.
    private let gate = DispatchSemaphore(value: 0)

    init(socket: Int32) { self.socket = socket }

    /// Waits for the slot's first message. Exits if the slot hangs up instead.
    static func hearRules(on socket: Int32) -> RoomRules {
        var buffer = [UInt8](repeating: 0, count: Datagram.byteLimit)
        switch Datagram.receive(from: socket, into: &buffer, takesDescriptors: false, waits: true) {
        case .message(let bytes, _):
            guard case .settle(let rules)? = try? WireCoder().message(RoomRequest.self, in: bytes) else {
                RoomProcess.giveUp("the first request is not settle")
            }
            return rules
        case .ended: _exit(0)
        case .nothing: RoomProcess.giveUp("the socket is non-blocking")
        case .broken(let why): RoomProcess.giveUp("unreadable request: \(why)")
        }
    }

    /// Starts the thread that receives requests and the thread that carries them out. Both wait until `open` has sent
    /// the hello message, and until then they make no system call that the lock could forbid.
    ///
    /// The process's first thread does neither. In a room made by the fork server it is a copy, which Swift's locks
    /// know by the thread id that it had in the fork server.
    func startThreads() {
        let haveStarted = DispatchSemaphore(value: 0)
        let bodies: [(name: String, run: @Sendable () -> Void)] = [
            ("room listener", { self.listen() }), ("room worker", { self.work() }),
        ]
        for body in bodies {
            SystemThread.detach(body.name) { [self] in
                haveStarted.signal()
                gate.wait()
                body.run()
            }
            haveStarted.wait()
        }
    }

    /// Sends the hello message and lets both threads work, until the other end hangs up.
    func open(_ level: RoomLevel) -> Never {
        say(.hello(version: wireVersion, build: SluiceBuild.number, level: level.bounded), WireCoder())
        for _ in 0..<2 { gate.signal() }
        while true { DispatchSemaphore(value: 0).wait() }
    }

    private func work() -> Never {
        let coder = WireCoder()
        while true {
            received.wait()
            carryOutNext(coder)
        }
    }

    /// A separate function, because without optimisation the variables of one that never returns are never released.
    @inline(never)
    private func carryOutNext(_ coder: WireCoder) {
        // A job that was stopped in the meantime has already been answered.
        guard let next = takeNext() else { return }
        say(.begun(job: next.id, spent: .now()), coder)
        carryOut(next.id, next.body, coder)
    }

    private func takeNext() -> (id: Int64, body: ReceivedJob.Body)? {
        state.withLock { state in
            guard !state.waiting.isEmpty else { return nil }
            let job = state.waiting.removeFirst()
            state.spentBefore = .microseconds(WireCost.now().cpuMicroseconds)
            state.current = job
            return (job.id, job.body)
        }
    }

    private func carryOut(_ job: Int64, _ body: ReceivedJob.Body, _ coder: WireCoder) {
        let report: (ConversionProgress) -> Void = { progress in
            self.state.withLock { state in
                state.unsaid = progress.bounded
                self.sayWhatIsDue(&state, coder)
            }
        }
        var result = Result { () throws(Failure) in try body(report, coder) }
        if fetched.close(job) {
            result = .failure(Failure(.cancelled, at: .open, "cancelled while a source was fetched"))
        }
        // The worker may close and publish as soon as it receives the reply, so the room
        // releases the descriptors before.
        state.withLock { ($0.current, $0.lastReport, $0.unsaid) = (nil, nil, nil) }
        switch result {
        case .success(let replies): for reply in replies(.now()) { say(reply, coder) }
        case .failure(let failure): say(.failed(job: job, failure.bounded, .now()), coder)
        }
    }

    /// Sends the progress of the current job, if it is new and the interval has passed. The caller holds the
    /// lock, so no progress follows the final reply of a job.
    private func sayWhatIsDue(_ state: inout State, _ coder: WireCoder) {
        let now = ContinuousClock.now
        guard let progress = state.unsaid, let job = state.current?.id,
            state.lastReport.map({ now - $0 >= Self.progressInterval }) ?? true
        else { return }
        (state.unsaid, state.lastReport) = (nil, now)
        // If the slot is too busy to receive it now, it does not need it.
        say(.progress(job: job, progress), coder, waits: false)
    }

    /// The reply with `report`: complete if it fits into a message, otherwise with fewer and shorter tags and chapters.
    private static func fitting(_ report: SourceReport, _ job: Int64, _ cost: WireCost, _ coder: WireCoder) -> RoomReply
    {
        var (count, bytes) = (2_048, 64 << 10)
        while true {
            let reply = RoomReply.described(job: job, report.bounded(count: count, bytes: bytes), cost)
            // If it cannot be encoded at all, `say` reports that.
            guard let size = try? coder.bytes(reply).count, size > Datagram.byteLimit, count > 1 else { return reply }
            (count, bytes) = (max(1, count / 2), max(Bound.name, bytes / 2))
        }
    }

    /// The points of `report`, in messages of few enough.
    private static func pointed(_ report: SourceReport, _ job: Int64) -> [RoomReply] {
        let points = report.points?.bounded.points ?? []
        return stride(from: 0, to: points.count, by: Bound.points).map { start in
            .pointed(job: job, Array(points[start..<min(points.count, start + Bound.points)]))
        }
    }

    // MARK: - Receiving

    private func listen() -> Never {
        let coder = WireCoder()
        var buffer = [UInt8](repeating: 0, count: Datagram.byteLimit)
        while true {
            // During work, wake up regularly: there may be progress that has not been sent.
            let isWorking = state.withLock { $0.current != nil || !$0.waiting.isEmpty }
            var waited = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            let interval = Int32(Self.progressInterval / .milliseconds(1))
            let ready = retryingInterrupts { Int(poll(&waited, 1, isWorking ? interval : -1)) }
            state.withLock { state in
                sayWhatIsDue(&state, coder)
                endLateOpening(state, coder)
            }
            // Signalled only after `receive` has returned: by then the working thread holds the only
            // references to the descriptors.
            if ready > 0, receive(&buffer, coder) == .request { received.signal() }
        }
    }

    /// Extra time for libav to notice the limit itself before the room is ended.
    private static let openingGrace = Duration.milliseconds(500)

    /// Ends the room if libav loops in a header: it reads nothing there, so it never checks the limit. The caller
    /// holds the lock, so no other reply about the job follows.
    private func endLateOpening(_ state: State, _ coder: WireCoder) {
        guard let current = state.current, let limit = current.work.openLimit, !current.work.hasOpened else { return }
        let spent = WireCost.now()
        guard .microseconds(spent.cpuMicroseconds) - state.spentBefore > limit + Self.openingGrace else { return }
        say(.failed(job: current.id, .openSecondsExceeded, spent), coder)
        // The jobs that wait here go to the next room, and their attempts are not spent.
        _exit(0)
    }

    private enum Received { case request, stop, note }

    /// Waits for one message. A separate function, so that no descriptor stays alive in a local variable.
    @inline(never)
    private func receive(_ buffer: inout [UInt8], _ coder: WireCoder) -> Received {
        switch Datagram.receive(from: socket, into: &buffer, takesDescriptors: true, waits: true) {
        case .message(let bytes, let descriptors): return take(bytes, descriptors, coder)
        case .ended: _exit(0)
        case .nothing: RoomProcess.giveUp("the socket is non-blocking")
        case .broken(let why): RoomProcess.giveUp("unreadable request: \(why)")
        }
    }

    private func take(_ bytes: [UInt8], _ descriptors: [SharedDescriptor], _ coder: WireCoder) -> Received {
        let request: RoomRequest
        do {
            request = try coder.message(RoomRequest.self, in: bytes)
        } catch {
            RoomProcess.giveUp("unreadable request: \(error)")
        }
        switch request {
        case .convert(let id, let recipe, let streams, let album):
            self.recipe.withLock { $0 = recipe }
            return take(conversion(id, recipe, album, streams: streams, descriptors))
        case .again(let id, let streams, let album):
            guard let recipe = recipe.withLock({ $0 }) else {
                RoomProcess.giveUp("a request refers to an earlier recipe, and there is none")
            }
            return take(conversion(id, recipe, album, streams: streams, descriptors))
        case .measure(let id, let recipe):
            guard descriptors.count == recipe.sources.count else {
                RoomProcess.giveUp("a request lacks its descriptors")
            }
            let conversion = RecipeConversion(recipe)
            let sources = descriptors.map(\.number)
            let job = ReceivedJob(
                id: id,
                work: conversion,
                body: { report, _ throws(Failure) in
                    let measure = try conversion.measure(sources, report: report)
                    return { [.measured(job: id, measure, $0)] }
                },
                descriptors: descriptors
            )
            return take(job)
        case .probe(let id, let options):
            guard descriptors.count == 1 else { RoomProcess.giveUp("a request lacks its descriptor") }
            let probe = SourceProbe(nameHint: options.nameHint, raw: options.raw, limits: options.limits)
            let source = descriptors[0].number
            let job = ReceivedJob(
                id: id,
                work: probe,
                body: { report, coder throws(Failure) in
                    let description = try probe.describe(
                        source,
                        scanning: options.scans,
                        measuring: options.measuresLoudness,
                        outlining: options.outlinesSound,
                        surveying: options.surveysLevels,
                        digesting: options.digestsSound,
                        finding: options.silence,
                        marking: options.points,
                        fitting: options.fitsPresets,
                        listingUnread: options.listsUnread,
                        report: report
                    )
                    return { Self.pointed(description, id) + [Self.fitting(description, id, $0, coder)] }
                },
                descriptors: descriptors
            )
            return take(job)
        case .stop(let job):
            stop(job, coder)
            return .stop
        case .windows(let job, let facts): fetched.announce(job, facts)
        case .filled(let job, let number, let count): fetched.take(job, number, count)
        case .settle: RoomProcess.giveUp("a second settle request")
        }
        return .note
    }

    private func conversion(
        _ id: Int64,
        _ recipe: Recipe,
        _ album: AlbumLoudness?,
        streams: Bool,
        _ descriptors: [SharedDescriptor]
    ) -> ReceivedJob {
        guard recipe.fits(destinations: descriptors.count - recipe.sources.count) else {
            RoomProcess.giveUp("a request lacks its descriptors")
        }
        let conversion = RecipeConversion(recipe, album: album)
        let numbers = descriptors.map(\.number)
        let sources = Array(numbers.prefix(recipe.sources.count))
        let destinations = Array(numbers.dropFirst(recipe.sources.count))
        return ReceivedJob(
            id: id,
            work: conversion,
            body: { report, _ throws(Failure) in
                let reports = try conversion.run(
                    from: sources,
                    to: destinations,
                    streaming: streams,
                    report: report
                ).map(\.bounded)
                return { cost in
                    reports.dropLast().map { .wrote(job: id, $0) }
                        + [.converted(job: id, reports[reports.count - 1], cost)]
                }
            },
            descriptors: descriptors
        )
    }

    private func take(_ job: ReceivedJob) -> Received {
        let id = job.id
        let hasAll = fetched.open(id, job.descriptors.map(\.number)) { [self] question in
            say(.wants(job: id, question), WireCoder())
        }
        guard hasAll else { RoomProcess.giveUp("a request lacks the descriptor of a source") }
        state.withLock { $0.waiting.append(job) }
        return .request
    }

    private func stop(_ job: Int64, _ coder: WireCoder) {
        let hadNotBegun = state.withLock { state in
            if let place = state.waiting.firstIndex(where: { $0.id == job }) {
                fetched.close(job)
                state.waiting.remove(at: place)
                return true
            }
            if let current = state.current, current.id == job { current.work.stop() }
            return false
        }
        if hadNotBegun { say(.failed(job: job, .cancelledBeforeItBegan, .now()), coder) }
    }

    // MARK: - Sending

    private func say(_ reply: RoomReply, _ coder: WireCoder, waits: Bool = true) {
        let bytes: [UInt8]
        do {
            bytes = try coder.bytes(reply)
        } catch {
            RoomProcess.giveUp("cannot encode an answer: \(error)")
        }
        switch Datagram.send(bytes, to: socket, waits: waits) {
        case .sent: break
        case .full where !waits: break
        // The slot has hung up.
        case .gone: _exit(0)
        case .full: RoomProcess.giveUp("the socket is non-blocking")
        case .refused(let error): RoomProcess.giveUp("cannot send an answer: \(error.text)")
        }
    }
}

/// Work that another thread can observe and stop.
private protocol StoppableWork: Sendable {
    /// Seconds of processor time for opening the source; if they are exceeded, the room ends. `nil` for no limit.
    var openSeconds: Int? { get }
    var hasOpened: Bool { get }
    func stop()
}

extension StoppableWork {
    fileprivate var openLimit: Duration? { openSeconds.map { .seconds($0) } }
}

extension RecipeConversion: StoppableWork {}
extension SourceProbe: StoppableWork {}
