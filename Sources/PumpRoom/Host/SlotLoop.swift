import Conversion
import Glibc
import System

/// The work of a slot, on one thread: gives jobs to its room, watches the room and replaces it.
final class SlotLoop {
    /// Failed starts in a row after which the waiting jobs fail.
    private static let startAttempts = 3
    /// How many rooms may end before they begin a job. If one more does, the job is handed back.
    private static let moveLimit = 3
    private static let longestPause = Duration.seconds(10)

    private let keeper: RoomKeeper
    private let pollDescriptor: Int32
    private var configuration: RoomConfiguration
    private let origin: RoomOrigin
    private let coder = WireCoder()
    /// The first message to each room.
    private let rules: [UInt8]
    private var buffer = [UInt8](repeating: 0, count: Datagram.byteLimit)

    private var waiting = WaitingLine<RoomJob>()
    /// The room that works, or will work when it is ready.
    private var current: Room?
    /// Started ahead, to replace `current` when that is spent.
    private var next: Room?
    /// Dismissed, but not ended yet.
    private var leaving: [Room] = []
    /// Killed, but still there. The loop does not wait for them, but reaps them once they end.
    private var stuck: [Room] = []

    /// The room whose sandbox level was last reported to the keeper.
    private var levelOf: pid_t?
    /// Rooms in a row that ended without working.
    private var uselessCount = 0
    /// Time left before the next start.
    private var pause = Duration.zero
    private var closers: [@Sendable () -> Void] = []
    private var isClosing = false
    private var lastLook = SuspendingClock.now

    /// `pollDescriptor` is readable while the keeper has orders.
    init(_ keeper: RoomKeeper, _ configuration: RoomConfiguration, pollDescriptor: Int32) {
        self.keeper = keeper
        self.pollDescriptor = pollDescriptor
        self.configuration = configuration
        origin = RoomOrigin(configuration)
        do {
            rules = try coder.bytes(RoomRequest.settle(configuration.rules))
        } catch {
            preconditionFailure("whole numbers can be written as JSON: \(error)")
        }
    }

    private var rooms: [Room] { [current, next].compactMap { $0 } + leaving }

    func run() {
        while true {
            keeper.takeOrders().forEach(follow)
            startRooms()
            giveJobs()
            if isClosing, rooms.isEmpty { break }
            wait()
        }
        origin.forgetForkServer()
        for order in keeper.end() { follow(order) }
        closers.forEach { $0() }
    }

    // MARK: - Orders

    private func follow(_ order: RoomKeeper.Order) {
        switch order {
        case .run(let job):
            if job.ticket.isCancelled {
                job.cancel()
            } else if isClosing {
                job.handBack()
            } else {
                waiting.append(job)
            }
        case .cancel(let id):
            if let job = waiting.remove(where: { $0.id == id }) {
                job.cancel()
            } else {
                _ = current?.cancel(id)
            }
        case .filled(let job, let number, let count): for room in rooms { room.answer(number, of: job, count) }
        case .distrust(let process, let why):
            for room in rooms where room.child.id == process { room.distrust(because: why) }
        case .close(let closed):
            closers.append(closed)
            close()
        case .kill(let closed):
            closers.append(closed)
            close()
            for room in rooms { room.killAtOnce() }
        }
    }

    private func close() {
        guard !isClosing else { return }
        isClosing = true
        handBackAll()
        next?.dismiss()
        guard let current else { return }
        for job in current.takeBackUnbegun() { job.handBack() }
        for sent in current.inFlight where sent.hasBegun { _ = current.cancel(sent.id) }
        // If no job has begun, there is nothing to wait for: the room exits when the slot hangs up.
        if !current.inFlight.contains(where: \.hasBegun) { current.dismiss() }
    }

    private func handBackAll() {
        for job in waiting.removeAll() { job.handBack() }
    }

    // MARK: - Rooms

    private func startRooms() {
        guard !isClosing else { return }
        // A file that has taken a room over must not meet another party's sound.
        if let current, let job = waiting.first, !current.serves(job.party) { current.takeNoMore() }
        // A killed room stays `current` until it has ended: only then is it known which jobs move to the next room.
        if let spent = current, spent.isSpent, spent.endReason == nil, spent.inFlight.isEmpty {
            spent.dismiss()
            leaving.append(spent)
            current = nil
        }
        if current == nil {
            (current, next) = (next, nil)
            noteProcess()
        }
        if current == nil, pause <= .zero, uselessCount == 0 || !waiting.isEmpty {
            current = start()
            noteProcess()
        }
        if let current, current.isReady, current.isNearlySpent, next == nil, pause <= .zero { next = start() }
    }

    private func noteProcess() {
        keeper.note(process: current?.child.id)
    }

    private func start() -> Room? {
        do throws(SystemError) {
            return try Room(configuration, from: origin, rules: rules, coder: coder)
        } catch {
            let hint = error.number == ENOENT ? RoomExecutable.hint : nil
            noteUseless(RoomFailure(Failure(.roomStart, at: .open, "cannot start a room: \(error.text)", hint: hint)))
            return nil
        }
    }

    /// Doubles the pause before the next start. After repeated failures, fails the waiting jobs.
    private func noteUseless(_ failure: RoomFailure?) {
        uselessCount += 1
        // The fault may be in the fork server that made the room.
        origin.forgetForkServer()
        let factor = 1 << min(uselessCount - 1, 10)
        pause = min(Self.longestPause, .milliseconds(50) * factor)
        guard let failure, uselessCount >= Self.startAttempts else { return }
        for job in waiting.removeAll() { job.fail(failure) }
    }

    private func giveJobs() {
        guard !isClosing, let current else { return }
        if current.endedCount > 0 { uselessCount = 0 }
        while current.takesJobs, let job = waiting.first, current.serves(job.party) {
            _ = waiting.popFirst()
            current.give(job)
        }
    }

    /// Moves or hands back the jobs that an ended room did not begin.
    private func takeBackJobs(of room: Room) {
        let remains = room.remains()
        if isClosing {
            for job in remains.unbegun { job.handBack() }
            return
        }
        var moved: [RoomJob] = []
        for var job in remains.unbegun {
            job.moves += 1
            if job.moves > Self.moveLimit { job.handBack() } else { moved.append(job) }
        }
        waiting.prepend(moved)
        if case .dismissed? = room.endReason { return }
        if remains.wasOfUse { uselessCount = 0 } else { noteUseless(remains.startFailure) }
    }

    // MARK: - Waiting

    private func wait() {
        let rooms = rooms
        var waited = [pollfd(fd: pollDescriptor, events: Int16(POLLIN), revents: 0)]
        for room in rooms {
            let wantsToSpeak = room.hasUnsent ? Int16(POLLOUT) : 0
            let listens = room.endReason == nil ? room.socket?.number ?? -1 : -1
            let handle = room.rest == nil ? room.child.handle.number : -1
            waited.append(pollfd(fd: handle, events: Int16(POLLIN), revents: 0))
            waited.append(pollfd(fd: listens, events: Int16(POLLIN) | wantsToSpeak, revents: 0))
            waited.append(pollfd(fd: room.lastWords.pollDescriptor(), events: Int16(POLLIN), revents: 0))
        }
        waited.append(pollfd(fd: origin.pollDescriptor, events: Int16(POLLIN), revents: 0))
        poll(&waited, nfds_t(waited.count), timeout(rooms))

        pass()
        if waited[waited.count - 1].revents != 0 { origin.readMessages() }
        for (place, room) in rooms.enumerated() {
            if waited[3 * place + 3].revents != 0 { room.lastWords.listen(into: &buffer) }
            if waited[3 * place + 2].revents != 0 {
                room.listen(into: &buffer)
                room.flush()
            }
            if waited[3 * place + 1].revents != 0 { room.look(into: &buffer) }
        }
        if let current, let level = current.level, levelOf != current.child.id {
            levelOf = current.child.id
            keeper.note(level)
            // The kernel has all layers, so a later room that lacks one is not used.
            if level.isComplete, configuration.sandbox == .bestEffort { configuration.sandbox = .require }
        }
        for room in rooms { room.enforceLimits() }
        for room in rooms where room.isOver { remove(room) }
        stuck.removeAll { $0.child.reap() != nil }
        if isClosing, let current, !current.inFlight.contains(where: \.hasBegun) { current.dismiss() }
    }

    /// Milliseconds until the next check of a limit; -1 if only events matter.
    private func timeout(_ rooms: [Room]) -> Int32 {
        let isWatching = rooms.contains(where: \.isWatched)
        guard isWatching || pause > .zero else { return -1 }
        let next = pause > .zero ? min(pause, configuration.tick) : configuration.tick
        return Int32(clamping: Int((next / .milliseconds(1)).rounded(.up)))
    }

    /// Counts the time for which this loop watched. A process that was stopped or asleep did not
    /// watch: a gap counts as two ticks.
    private func pass() {
        let now = SuspendingClock.now
        let time = min(now - lastLook, configuration.tick * 2)
        lastLook = now
        pause = max(.zero, pause - time)
        for room in rooms { room.pass(time) }
    }

    private func remove(_ room: Room) {
        if current === room { current = nil }
        if next === room { next = nil }
        leaving.removeAll { $0 === room }
        if room.rest == nil { stuck.append(room) }
        noteProcess()
        takeBackJobs(of: room)
    }
}
