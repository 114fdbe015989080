import Conversion
import Glibc
import System

/// One child process and the jobs that it was given. Used only on its slot's thread.
final class Room {
    /// Why the slot ends a room.
    enum EndReason {
        case notReady
        /// Its lock is less complete than required.
        case notLocked(String)
        case stalled(Duration)
        case disobeyed(JobWatch.Stop)
        /// The program is not the one that this version of sluice starts.
        case mismatched(String)
        case brokeProtocol(String)
        /// An output of a finished job is not what the room reported.
        case distrusted(String)
        /// No fault of the room: it has done its share, or the slot closes.
        case dismissed
    }

    private struct Message {
        let job: Int64
        let bytes: [UInt8]
        var descriptors: [Int32] = []
        /// The recipe that the bytes hold, if they are of a conversion.
        var recipe: Recipe?
    }

    let child: RoomChild
    let configuration: RoomConfiguration
    private let coder: WireCoder
    /// `nil` once either side has hung up.
    private(set) var socket: SharedDescriptor?
    let lastWords: LastWords
    private(set) var isReady = false
    /// How far it has locked itself, as it reports; `nil` until it is ready.
    private(set) var level: RoomLevel?
    var inFlight: [JobWatch] = []
    /// Messages that its socket has not accepted yet.
    private var outbox: [Message] = []
    /// The recipe of the last conversion that it was sent as a whole. Further jobs with the same recipe are sent without it.
    private var sentRecipe: Recipe?
    /// For whom it works, once it has been given a job.
    private var party: String?
    /// Jobs that it was given.
    private(set) var takenCount = 0
    /// Jobs that it began and finished itself.
    private(set) var endedCount = 0
    private(set) var endReason: EndReason?
    private var wasKilled = false
    private var isHungUp = false
    /// Time since the room was started, and since it was dismissed, killed or hung up. Like `idle`, these count only
    /// the time for which the slot was awake.
    private var age = Duration.zero
    private var sinceEnd = Duration.zero
    /// Time for which it has had jobs and worked on none of them, since it last began one.
    private var idle = Duration.zero
    private var firstBytes: Int64?
    private var account = ProcessorAccount()
    private var hasGrown = false
    /// Whether it was given a job that must be its last.
    private var hasLastJob = false
    /// How the process ended. Set before its last messages are read.
    private(set) var rest: RoomChild.Rest?
    /// Killed but still there: it waits in the kernel for a disk that does not answer.
    private(set) var isStuck = false

    /// `rules` is the first message to the room.
    init(
        _ configuration: RoomConfiguration,
        from origin: RoomOrigin,
        rules: [UInt8],
        coder: WireCoder
    ) throws(SystemError) {
        self.configuration = configuration
        self.coder = coder
        let (ours, theirs) = try Datagram.pair()
        let words = try Pipe.open()
        child = try origin.child(socket: theirs, words: words.writing)
        socket = ours
        lastWords = LastWords(from: words.reading)
        // The first message always fits into a new socket. If it does not, the room never becomes ready, and
        // the start limit reports that.
        _ = Datagram.send(rules, to: ours.number, waits: false)
    }

    /// Whether it may work for this party: it has worked for none, or for this one only.
    func serves(_ party: String?) -> Bool { takenCount == 0 || self.party == party }

    /// Lets it end after the jobs that it has.
    func takeNoMore() { hasLastJob = true }

    /// Whether it can be given another job now.
    var takesJobs: Bool {
        isReady && !isHungUp && !isSpent && outbox.isEmpty && inFlight.count < configuration.inFlightLimit
    }

    /// Whether it gets no more jobs.
    var isSpent: Bool { endReason != nil || hasGrown || hasLastJob || takenCount >= configuration.jobsPerRoom }

    /// Whether its successor should be started.
    var isNearlySpent: Bool { isSpent || takenCount >= configuration.jobsPerRoom - configuration.inFlightLimit }

    /// Whether a time limit applies to it now.
    var isWatched: Bool { !isReady || isHungUp || endReason != nil || !inFlight.isEmpty }

    var isOver: Bool { rest != nil || isStuck }

    // MARK: - Sending

    /// Sends `job`, or fails it if it cannot be sent.
    func give(_ job: RoomJob) {
        let request = job.request(configuration, after: outbox.isEmpty ? sentRecipe : nil)
        let bytes: [UInt8]
        do {
            bytes = try coder.bytes(request)
        } catch {
            return job.fail(.refused("a number in the recipe is not finite"))
        }
        guard job.descriptors.count <= Datagram.descriptorLimit else {
            let files = Plural.count(job.descriptors.count, "source and output file")
            return job.fail(.refused("the recipe has \(files); the limit is \(Datagram.descriptorLimit)"))
        }
        if let mistake = job.mistakeInOutputs { return job.fail(.refused(mistake)) }
        guard bytes.count <= Datagram.byteLimit else {
            let sizes = "the recipe has \(Plural.count(bytes.count, "byte")); the limit is \(Datagram.byteLimit)"
            return job.fail(.refused(sizes, hint: "shorten its tags, or its list of ranges, pieces or chapters"))
        }
        takenCount += 1
        party = job.party
        hasLastJob = job.endsRoom
        let limits = configuration.limits(for: job.limits)
        inFlight.append(JobWatch(job, bounds: job.bounds(limits)))
        if let announcement = job.announcement { enqueue(announcement, about: job.id) }
        outbox.append(Message(job: job.id, bytes: bytes, descriptors: job.descriptors, recipe: request.newRecipe))
        flush()
    }

    /// Asks the room to end a job.
    func stop(at place: Int, _ reason: JobWatch.Stop) {
        inFlight[place].stop(reason)
        send(.stop(job: inFlight[place].id), about: inFlight[place].id)
    }

    /// Sends a message about a job that it has been sent.
    func send(_ request: RoomRequest, about job: Int64) {
        enqueue(request, about: job)
        flush()
    }

    private func enqueue(_ request: RoomRequest, about job: Int64) {
        // `try?`: such requests hold whole numbers, which JSON can always write.
        if let bytes = try? coder.bytes(request) { outbox.append(Message(job: job, bytes: bytes)) }
    }

    /// Cancels `job` for its caller. Returns false if the room does not have it.
    func cancel(_ job: Int64) -> Bool {
        guard let place = inFlight.firstIndex(where: { $0.id == job && !$0.isAbandoned }) else { return false }
        guard !inFlight[place].hasBegun else {
            stop(at: place, .cancelled)
            return true
        }
        let sent = inFlight[place]
        if outbox.contains(where: { $0.job == job && !$0.descriptors.isEmpty }) {
            // Not sent yet: remove it, because its descriptors must not be used after the caller has its answer.
            outbox.removeAll { $0.job == job }
            inFlight.remove(at: place)
        } else {
            inFlight[place].isAbandoned = true
            stop(at: place, .cancelled)
        }
        sent.job.cancel()
        return true
    }

    /// Takes back the jobs that have not begun. The caller finishes them; the room is not informed.
    func takeBackUnbegun() -> [RoomJob] {
        let unbegun = inFlight.filter { !$0.hasBegun && !$0.isAbandoned }.map(\.job)
        outbox.removeAll { message in unbegun.contains { $0.id == message.job } }
        for place in inFlight.indices where !inFlight[place].hasBegun { inFlight[place].isAbandoned = true }
        return unbegun
    }

    /// Sends queued messages until the socket is full.
    func flush() {
        while let next = outbox.first, let socket {
            switch Datagram.send(next.bytes, next.descriptors, to: socket.number, waits: false) {
            case .sent:
                outbox.removeFirst()
                sentRecipe = next.recipe ?? sentRecipe
            case .full: return
            // The room is gone; its end decides what becomes of its jobs.
            case .gone: outbox = []
            case .refused(let error):
                outbox.removeAll { $0.job == next.job }
                guard let place = inFlight.firstIndex(where: { $0.id == next.job }), !inFlight[place].isAbandoned
                else { continue }
                if inFlight[place].hasBegun { return distrust(because: "it cannot be sent a message: \(error.text)") }
                inFlight.remove(at: place).job.fail(.unsendable(error))
            }
        }
    }

    var hasUnsent: Bool { !outbox.isEmpty }

    // MARK: - Ending

    /// Hangs up, which makes the room exit. Does not wait for its jobs.
    func dismiss() {
        guard endReason == nil else { return }
        endReason = .dismissed
        socket = nil
    }

    /// Kills the room now, and records why.
    func kill(for reason: EndReason) {
        guard endReason == nil else { return }
        endReason = reason
        sinceEnd = .zero
        wasKilled = true
        // Once the process is reaped, its id may belong to another process.
        if rest == nil { child.kill() }
    }

    /// Kills the room now, even if it was dismissed before.
    func killAtOnce() {
        guard endReason != nil else { return kill(for: .dismissed) }
        guard !wasKilled, rest == nil else { return }
        wasKilled = true
        sinceEnd = .zero
        child.kill()
    }

    /// Kills the room now. The job that it has begun is handed back, because its caller is not at fault.
    func distrust(because why: String) {
        if endReason == nil { kill(for: .distrusted(why)) } else { killAtOnce() }
    }

    /// Adds `time`, during which the slot was awake and watching.
    func pass(_ time: Duration) {
        age += time
        if endReason != nil || isHungUp { sinceEnd += time }
        if let place = inFlight.firstIndex(where: \.hasBegun) {
            inFlight[place].pass(time)
        } else if !inFlight.isEmpty {
            idle += time
        }
    }

    /// Ends whatever has exceeded a limit. Call it after reading the room's messages.
    func enforceLimits() {
        guard !isOver else { return }
        guard endReason == nil else { return hasten() }
        if isHungUp {
            if sinceEnd > configuration.obedienceLimit {
                kill(for: .brokeProtocol("it closed its socket but did not exit"))
            }
            return
        }
        guard isReady else {
            if age > configuration.startLimit { kill(for: .notReady) }
            return
        }
        guard let place = inFlight.firstIndex(where: \.hasBegun) else {
            // The room was stopped from outside, for example. Its jobs go to another room.
            if idle > configuration.stallLimit { kill(for: .stalled(configuration.stallLimit)) }
            return
        }
        let job = inFlight[place]
        if let stop = job.stop {
            if job.sinceStop > configuration.obedienceLimit { kill(for: .disobeyed(stop)) }
        } else if let stop = job.overdue(configuration) ?? job.overspent(child.cpuMicroseconds, configuration) {
            self.stop(at: place, stop)
        } else if case let limit = job.stallLimit(configuration), job.quiet > limit {
            kill(for: .stalled(limit))
        }
    }

    /// Kills a dismissed room that does not exit. Gives up on a killed room that does not end.
    private func hasten() {
        guard sinceEnd > configuration.obedienceLimit else { return }
        if wasKilled {
            isStuck = true
        } else {
            wasKilled = true
            sinceEnd = .zero
            child.kill()
        }
    }

    // MARK: - Receiving

    /// Reads and handles the room's messages. `buffer` is scratch space.
    func listen(into buffer: inout [UInt8], upTo limit: Int = 64) {
        for _ in 0..<limit {
            // Messages no longer count once the slot has decided to end the room.
            guard let socket, endReason == nil else { return }
            switch Datagram.receive(from: socket.number, into: &buffer, takesDescriptors: false, waits: false) {
            case .nothing: return
            case .ended:
                // The process ends soon, by itself or killed. Its exit status shows the cause.
                return hangUp()
            case .broken(let why): return kill(for: .brokeProtocol(why))
            case .message(let bytes, _):
                guard let reply = try? coder.message(RoomReply.self, in: bytes) else {
                    // The JSON error is of no use: nothing that a room of ours writes looks like this.
                    return kill(for: .brokeProtocol("an unknown message of \(Plural.count(bytes.count, "byte"))"))
                }
                if let wrong = take(reply) { return kill(for: .brokeProtocol(wrong)) }
            }
        }
    }

    /// The room has closed its end, as it does when it dies. `enforceLimits` kills it if it does not.
    private func hangUp() {
        socket = nil
        outbox = []
        isHungUp = true
    }

    /// Checks whether the process has ended, and if so reads its last messages.
    func look(into buffer: inout [UInt8]) {
        guard rest == nil, let rest = child.reap() else { return }
        self.rest = rest
        // A dead room cannot have left more than a socket and a pipe hold.
        listen(into: &buffer, upTo: 4_096)
        for _ in 0..<32 where lastWords.source != nil { lastWords.listen(into: &buffer) }
    }

    /// Checks and applies `reply`. Returns what is wrong if it cannot be true.
    private func take(_ reply: RoomReply) -> String? {
        switch reply {
        case .hello(let version, let build, let level):
            guard !isReady else { return "a second hello" }
            guard version == wireVersion, build == SluiceBuild.number else {
                let build = build.shortened(to: Bound.code).plain
                kill(for: .mismatched(RoomProgramError.mismatch(build: build, version: version)))
                return nil
            }
            guard configuration.sandbox != .require || level.isComplete else {
                kill(for: .notLocked(level.bounded.warning ?? "the sandbox is incomplete"))
                return nil
            }
            self.level = level.bounded
            isReady = true
        case .begun(let job, let spent):
            guard let place = inFlight.firstIndex(where: { $0.id == job }), spent.isCredible,
                !inFlight.contains(where: \.hasBegun), inFlight[..<place].allSatisfy(\.isAbandoned)
            else { return "it began job \(job) out of turn" }
            let counted = child.cpuMicroseconds
            inFlight[place].begin(spent, cpuMicroseconds: counted)
            account.begin(counted: counted, claimed: spent.cpuMicroseconds)
            if !inFlight[place].isAbandoned { inFlight[place].job.began() }
            idle = .zero
        case .progress(let job, let progress):
            guard let place = begun(job), inFlight[place].advance(to: progress, configuration) else {
                return "impossible progress of job \(job)"
            }
            if !inFlight[place].isAbandoned { inFlight[place].job.report(progress) }
        case .wants(let job, let question): return fetch(question, for: job)
        case .wrote(let job, let report):
            guard let place = begun(job), inFlight[place].reports.count + 1 < inFlight[place].job.outputCount,
                report.isCredible(within: inFlight[place].bounds), inFlight[place].hasAskedFor(report)
            else { return "an impossible report on one output of job \(job)" }
            inFlight[place].reports.append(report.bounded)
        case .converted(let job, let report, let spent):
            guard let place = begun(job), case .convert(_, let finish) = inFlight[place].job.kind, spent.isCredible,
                inFlight[place].reports.count + 1 == inFlight[place].job.outputCount,
                report.isCredible(within: inFlight[place].bounds), inFlight[place].hasAskedFor(report)
            else { return "an impossible report of job \(job)" }
            let reports = inFlight[place].reports + [report.bounded]
            var cost = cost(of: inFlight[place], spent)
            cost.process = child.id
            let answer: @Sendable () -> Void = { [cost] in finish(.done(reports, cost)) }
            guard inFlight[place].job.endsRoom else {
                end(place) { _ in answer() }
                return nil
            }
            // The caller gets the answer when the process is gone.
            inFlight[place].answer = answer
            kill(for: .dismissed)
        case .measured(let job, let measure, let spent):
            guard let place = begun(job), case .measure(_, let finish) = inFlight[place].job.kind, spent.isCredible,
                measure.isCredible(within: inFlight[place].bounds)
            else { return "an impossible measurement of job \(job)" }
            let weighed = measure.weighed(within: inFlight[place].bounds)
            end(place) { finish(.done(weighed, cost(of: $0, spent))) }
        case .pointed(let job, let points):
            guard let place = begun(job), case .probe(let options, _) = inFlight[place].job.kind,
                options.points != nil, (1...Bound.points).contains(points.count),
                inFlight[place].points.count + points.count <= PointReport.most,
                points.allSatisfy(\.isCredible)
            else { return "impossible points of job \(job)" }
            inFlight[place].points += points
        case .described(let job, var report, let spent):
            guard let place = begun(job), case .probe(let options, let finish) = inFlight[place].job.kind,
                report.points?.points.isEmpty ?? inFlight[place].points.isEmpty
            else { return "an impossible description of job \(job)" }
            report.points?.points = inFlight[place].points
            guard spent.isCredible, report.isCredible(within: inFlight[place].bounds), report.answers(options) else {
                return "an impossible description of job \(job)"
            }
            // The size of a message bounds the description, so it needs no shortening here.
            end(place) { finish(.done(report, cost(of: $0, spent))) }
        case .failed(let job, let failure, let spent):
            guard let place = inFlight.firstIndex(where: { $0.id == job }), spent.isCredible,
                let failure = failure.credible,
                (1...max(1, inFlight[place].job.outputCount)).contains(failure.output ?? 1),
                inFlight[place].hasBegun || inFlight[place].isAbandoned,
                failure.known != .cancelled || inFlight[place].stop != nil,
                failure.known != .unable || configuration.withholds(failure.libavName)
            else { return "an impossible failure of job \(job)" }
            end(place) { $0.job.fail($0.failure(failure, cost: cost(of: $0, spent))) }
        }
        return nil
    }

    private func begun(_ job: Int64) -> Int? { inFlight.firstIndex { $0.id == job && $0.hasBegun } }

    /// Removes a job, and has `finish` tell its caller the outcome.
    private func end(_ place: Int, _ finish: (JobWatch) -> Void) {
        let job = inFlight.remove(at: place)
        if job.hasBegun {
            endedCount += 1
            lookAtMemory()
        }
        if !job.isAbandoned {
            finish(job)
        } else if job.hasBegun {
            // Its caller has its answer, so no job is charged.
            _ = account.charge(nil, counted: counted, elapsed: job.elapsed)
        }
    }

    /// The kernel's count of its processor time, in microseconds; `nil` if it cannot be read.
    private var counted: Int64? {
        guard let rest else { return child.cpuMicroseconds }
        return rest.end == .unknown ? nil : rest.cpuMicroseconds
    }

    /// What a job has cost. `spent` is what the room says that it has used in all.
    func cost(of job: JobWatch, _ spent: WireCost) -> RoomCost {
        var cost = job.cost(cpuMicroseconds: spent.cpuMicroseconds, peakBytes: spent.peakBytes)
        let claimed = cost.cpu.map { Int64($0 / .microseconds(1)) }
        cost.cpu = account.charge(claimed, counted: counted, elapsed: job.elapsed).map { .microseconds($0) }
        return cost
    }

    private func lookAtMemory() {
        // Memory grows over many jobs. Checking after every tenth is soon enough, and saves short jobs a read of /proc.
        guard firstBytes == nil || endedCount % 10 == 0, let bytes = child.residentBytes() else { return }
        let first = firstBytes ?? bytes
        firstBytes = first
        hasGrown = bytes - first > configuration.growthLimitBytes
    }
}

extension JobWatch {
    /// The room's failure, or the slot's reason if the room ended the job because of one of the slot's limits.
    fileprivate func failure(_ said: Failure, cost: RoomCost) -> RoomFailure {
        var failure = said
        if said.known == .cancelled, let stop, let why = stop.failure(at: last) { failure = why }
        return RoomFailure(failure, frames: last?.frames, cost: cost, elapsed: elapsed, quiet: quiet)
    }
}

extension Failure {
    fileprivate static func refused(_ message: String, hint: String? = nil) -> Failure {
        Failure(.recipeRefused, at: .open, message, hint: hint)
    }

    /// For a message that the kernel refuses to send, because of the descriptors or for lack of memory.
    fileprivate static func unsendable(_ error: SystemError) -> Failure {
        switch error.number {
        case ETOOMANYREFS, EMFILE, ENFILE:
            Failure(.tooManyFiles, at: .open, error.text)
        case ENOMEM, ENOBUFS: Failure(.outOfMemory, at: .open, error.text)
        default: Failure(.unexpected, at: .open, error.text)
        }
    }
}

extension Duration {
    /// `2.5 s`
    var seconds: String {
        let tenths = self / .milliseconds(100)
        let whole = Int64(max(0, min(tenths, 1e15)).rounded())
        return whole % 10 == 0 ? "\(whole / 10) s" : "\(whole / 10).\(whole % 10) s"
    }
}
