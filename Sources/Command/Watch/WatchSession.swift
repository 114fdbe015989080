import Console
import Conversion
import Dispatch
import FoundationEssentials
import Glibc
import Ledger
import LedgerClient
import Synchronization

/// The watch on a terminal: waits for keys, ledger replies and signals, and draws.
///
/// The calling thread does all of that. Tasks query the ledger and a separate thread reads keys; both put their
/// results into a `WatchBox` and wake the calling thread.
struct WatchSession {
    private let invocation: Invocation
    private let console: CommandOutput

    init(_ invocation: Invocation, _ console: CommandOutput) { (self.invocation, self.console) = (invocation, console) }

    /// Signals to wait for instead of taking their default effect: the terminal must be restored first.
    private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH]

    func run() throws -> ExitCode {
        // Before any thread starts, so that all threads leave these signals to this one.
        let listener = SignalListener(Self.signals)
        // Problems with the ledger at the start are reported on the shell's screen, as in every command.
        let (filter, first) = try LedgerWork.run(invocation) { ledger in
            let filter = WatchFilter(
                batch: try await JobFilterOptions.batch(invocation, on: ledger),
                queue: invocation[JobFilterOptions.queue]
            )
            return (filter, try await WatchFacts.look(at: ledger, WatchQuery(filter: filter, batch: filter.batch)))
        }
        let ledger = try LedgerWork.open(invocation)
        let loop = WatchLoop(
            WatchState(first, filter: filter, context: try LedgerOptions.contextInUse(invocation)),
            ledger,
            console,
            listener
        )
        let ending = try loop.run()
        Self.close(ledger)
        if ending == .quit {
            // End by the signal itself, as the shell expects; whether it leaves a core file is the user's choice.
            listener.surrender(to: SIGQUIT)
        }
        return ending.exitCode
    }

    /// Closes the connections. Waits at most 300 ms for a server that does not answer.
    private static func close(_ ledger: any CommandLedger) {
        let done = DispatchSemaphore(value: 0)
        Task {
            await ledger.close()
            done.signal()
        }
        _ = done.wait(timeout: .now() + .milliseconds(300))
    }
}

/// How a watch ends.
enum WatchEnding {
    case left, interrupted, terminated, quit

    var exitCode: ExitCode {
        switch self {
        case .left: .success
        case .interrupted: .interrupted
        case .terminated, .quit: .terminated
        }
    }
}

/// Messages from other threads to the one that draws.
private enum WatchMessage: Sendable {
    case keyboard(Keyboard.Event)
    case look(Result<WatchFacts, any Error>, took: Duration)
    /// Something may have changed.
    case change
    case count(WatchChange, Result<Int, WatchFailure>)
    case progress(WatchChange, ChangeTally)
    case end(WatchChange, Result<ChangeTally?, WatchFailure>)
    case story(Int64, Result<(JobStory, Date)?, WatchFailure>)
}

/// Holds messages until the drawing thread takes them.
private final class WatchBox: Sendable {
    private let messages = Mutex<[WatchMessage]>([])
    private let listener: SignalListener

    init(_ listener: SignalListener) { self.listener = listener }

    func put(_ one: WatchMessage) {
        messages.withLock { $0.append(one) }
        listener.wake()
    }

    func takeAll() -> [WatchMessage] {
        messages.withLock { messages in
            defer { messages = [] }
            return messages
        }
    }
}

/// The event loop of a watch.
private final class WatchLoop {
    private var state: WatchState
    private let ledger: any CommandLedger
    private let console: CommandOutput
    private let listener: SignalListener
    private let box: WatchBox
    private let screen: FullScreen
    private var painter = FramePainter()
    private let style: ScreenStyle
    private let clock = ContinuousClock()
    private var isLooking = false
    private var nextLook: ContinuousClock.Instant
    /// Before then, a change causes no look.
    private var earliestLook: ContinuousClock.Instant
    /// Whether there was a change since the last look began.
    private var hasChanged = false
    private var changes: (any ChangeListening)?
    /// With events: how often to look at what they do not tell, such as workers and the progress of jobs.
    private static let quietPause: Duration = .seconds(5)
    /// When the ledger's clock was last read.
    private var readAt: ContinuousClock.Instant

    init(_ state: WatchState, _ ledger: any CommandLedger, _ console: CommandOutput, _ listener: SignalListener) {
        (self.state, self.ledger, self.console, self.listener) = (state, ledger, console, listener)
        (box, screen) = (WatchBox(listener), FullScreen(outlet: console.data))
        let outlet = console.data
        style = ScreenStyle(unicode: outlet.usesUnicode, paint: { outlet.paint($0, $1) })
        (readAt, nextLook, earliestLook) = (clock.now, clock.now + .seconds(1), clock.now + .seconds(1))
    }

    func run() throws -> WatchEnding {
        do throws(Outlet.Failure) {
            try screen.enter()
        } catch {
            return .terminated
        }
        defer { screen.leave() }
        Keyboard.listen { [box] in box.put(.keyboard($0)) }
        changes = ledger.listen(to: .all) { [box] in box.put(.change) }
        defer { changes?.stop() }
        while true {
            do throws(Outlet.Failure) {
                if let ending = try step() { return ending }
            } catch {
                // Nothing can be shown any more.
                return .terminated
            }
            for message in box.takeAll() {
                if let ending = try take(message) { return ending }
            }
        }
    }

    /// Draws, then waits for the next event.
    private func step() throws(Outlet.Failure) -> WatchEnding? {
        if !isLooking, clock.now >= nextLook { look() }
        try draw()
        // The clock on the screen changes every second; a look may be due earlier.
        let rest = isLooking ? Duration.seconds(1) : min(.seconds(1), max(.zero, nextLook - clock.now))
        switch listener.wait(milliseconds: Int(rest / .milliseconds(1)) + 1) {
        case SIGINT?: if state.interrupt() == .leave { return .interrupted }
        case SIGTERM?, SIGHUP?: return .terminated
        case SIGQUIT?: return .quit
        case SIGTSTP?: try stop()
        case SIGCONT?: try goOn()
        case SIGWINCH?: painter.forget()
        default: break
        }
        return nil
    }

    // MARK: - The terminal

    private func draw() throws(Outlet.Failure) {
        let size = screen.size
        state.now = state.facts.status.time.addingTimeInterval((clock.now - readAt).seconds)
        let page = WatchPage(state, size: size, style: style)
        (state.visibleRows, state.lastTop) = (page.visibleRows, page.lastTop)
        try screen.write(painter.frame(page.lines, on: size))
    }

    /// Stops the process for the shell, with the terminal restored, and takes the terminal again when the shell
    /// continues it.
    private func stop() throws(Outlet.Failure) {
        screen.leave()
        var only = sigset_t()
        sigemptyset(&only)
        sigaddset(&only, SIGTSTP)
        // The signal has no handler: once unblocked, it stops this process until SIGCONT arrives.
        pthread_kill(pthread_self(), SIGTSTP)
        pthread_sigmask(SIG_UNBLOCK, &only, nil)
        pthread_sigmask(SIG_BLOCK, &only, nil)
        try screen.enter()
        painter.forget()
        nextLook = clock.now
    }

    private func goOn() throws(Outlet.Failure) {
        try screen.renew()
        painter.forget()
    }

    // MARK: - News

    private func take(_ message: WatchMessage) throws -> WatchEnding? {
        switch message {
        case .keyboard(.end): return .terminated
        case .keyboard(.keys(let keys)):
            for key in keys {
                if let effect = state.take(key), let ending = carryOut(effect) { return ending }
            }
        case .look(let result, let took): try take(result, took)
        case .change:
            hasChanged = true
            if !isLooking { nextLook = min(nextLook, earliestLook) }
        case .count(let what, .success(let count)): state.take(count: count, of: what)
        case .count(let what, .failure(let failure)): state.end(what, .failure(failure))
        case .progress(let what, let tally): state.take(progress: tally, of: what)
        case .end(let what, let result):
            state.end(what, result)
            nextLook = clock.now
        case .story(let job, .success(let found)):
            let lines = found.map { StoryPage(story: $0.0, now: $0.1, console: console).lines }
            state.take(story: lines, of: job)
        case .story(_, .failure(let failure)): state.fail(failure)
        }
        return nil
    }

    private func take(_ result: Result<WatchFacts, any Error>, _ took: Duration) throws {
        isLooking = false
        earliestLook = clock.now + LookPause.length(after: took, atLeast: .seconds(1))
        let isHeardOf = changes?.isReceiving == true && !hasChanged
        nextLook = isHeardOf ? max(earliestLook, clock.now + Self.quietPause) : earliestLook
        switch result {
        case .success(let facts):
            readAt = clock.now
            state.take(facts)
            if state.isAwaitingRows { nextLook = clock.now }
        case .failure(let error as LedgerError) where error.isTransient:
            // Retry soon: the server may be back at once, however long the failure took.
            nextLook = clock.now + .seconds(1)
            state.lose(error)
        case .failure(let error): throw error
        }
    }

    private func carryOut(_ effect: WatchState.Effect) -> WatchEnding? {
        switch effect {
        case .leave: return .left
        case .look: nextLook = clock.now
        case .redraw: painter.forget()
        case .count(let what):
            task { ledger in .count(what, await Self.result { try await what.count(in: ledger) ?? 0 }) }
        case .carryOut(let what):
            task { [box] ledger in
                .end(
                    what,
                    await Self.result {
                        try await what.carryOut(in: ledger) { box.put(.progress(what, $0)) }
                    }
                )
            }
        case .showStory(let job):
            task { ledger in
                .story(
                    job,
                    await Self.result {
                        guard let story = try await ledger.story(of: job) else { return nil }
                        return (story, try await ledger.time())
                    }
                )
            }
        }
        return nil
    }

    private func look() {
        (isLooking, hasChanged) = (true, false)
        let query = state.query
        task { ledger in
            let start = ContinuousClock.now
            do {
                let facts = try await WatchFacts.look(at: ledger, query)
                return .look(.success(facts), took: .now - start)
            } catch {
                return .look(.failure(error), took: .now - start)
            }
        }
    }

    private func task(_ body: @escaping @Sendable (any CommandLedger) async -> WatchMessage) {
        Task { [ledger, box] in box.put(await body(ledger)) }
    }

    private static func result<Value>(_ body: () async throws -> Value) async -> Result<Value, WatchFailure> {
        do {
            return .success(try await body())
        } catch {
            return .failure(WatchFailure(error))
        }
    }
}
