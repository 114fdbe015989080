import Conversion
import Dispatch
import Glibc
import PumpRoom
import Storage
import Synchronization

/// How long the sources of a plan are together, as pump rooms find when they look into each.
struct SourceLengths: Sendable {
    /// Exact for each source, and so for all.
    private(set) var microseconds: Int64 = 0
    /// Of sources whose length is an estimate, or that only decoding could tell.
    private(set) var estimates = 0
    private(set) var unknown = 0
    /// Sources in places that are not on this machine.
    private(set) var elsewhere = 0
    /// Those that could not be read, each with the reason.
    private(set) var unreadable = SubmitPlan.Sample()

    var seconds: Double { Double(microseconds) / 1e6 }

    /// What became of one source.
    private enum Finding: Sendable {
        case length(microseconds: Int64, isEstimate: Bool)
        case unknown
        case elsewhere
        case unreadable(String)
    }

    private mutating func add(_ finding: Finding) {
        switch finding {
        case .length(let length, let isEstimate):
            // As long as can be said: a room may say anything, and so may headers, of many files together.
            let (sum, overflows) = microseconds.addingReportingOverflow(length)
            microseconds = overflows ? .max : sum
            if isEstimate { estimates += 1 }
        case .unknown: unknown += 1
        case .elsewhere: elsewhere += 1
        case .unreadable(let reason): unreadable.add(reason)
        }
    }

    /// Looks into all of them, as many at a time as there are processors; `StoppedBySignal` if it was interrupted.
    static func look(
        into plan: SubmitPlan,
        _ roots: PathRoots,
        _ invocation: Invocation,
        _ console: Console
    ) throws -> SourceLengths {
        let items = plan.items
        let rooms = (0..<min(items.count, max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))).map { _ in
            ForegroundRoom()
        }
        let bar = CountBar(of: items.count, "file", outlet: console.talk)
        let isShown = invocation[ProgressOption.option] != .none
        let raw = invocation[SourceOptions.rawInput]
        let counters = Counters(items.count)
        let result = ForegroundWork.run(
            onTick: { if isShown { bar.show(counters.done) } },
            onSignal: {
                counters.stop()
                for room in rooms { room.stop() }
            },
            onSurrender: { _ in
                bar.clear()
                for room in rooms { room.dismiss() }
                for room in rooms { room.kill() }
            },
            { () -> [Finding] in
                defer {
                    for room in rooms { room.dismiss() }
                    for room in rooms { room.end() }
                }
                let findings = Mutex([(place: Int, finding: Finding)]())
                DispatchQueue.concurrentPerform(iterations: rooms.count) { number in
                    while let place = counters.take() {
                        let finding = finding(of: items[place].source, raw, roots, in: rooms[number])
                        findings.withLock { $0.append((place, finding)) }
                        counters.finish()
                    }
                }
                // In the order of the plan, whichever room was faster.
                return findings.withLock { $0.sorted { $0.place < $1.place }.map(\.finding) }
            }
        )
        bar.clear()
        if let signal = result.signal { throw StoppedBySignal(exitCode: signal) }
        if let warning = rooms.lazy.compactMap(\.warning).first { console.warn(warning) }
        return result.value.reduce(into: SourceLengths()) { $0.add($1) }
    }

    private static func finding(
        of source: Location,
        _ raw: Recipe.RawDescription?,
        _ roots: PathRoots,
        in room: ForegroundRoom
    ) -> Finding {
        guard let path = roots.path(of: source) else { return .elsewhere }
        do {
            // Files only, as workers do: opening a pipe would wait for a writer.
            let file = try SourceFile.open(path)
            let probe = RoomProbe(file.descriptor, nameHint: path, raw: raw)
            let report = try room.describe(probe) { _ in }
            guard let track = report.tracks.first(where: \.isMain) else {
                return .unreadable("\(source): no sound".printable)
            }
            guard let frames = track.frames, track.sampleRateHz > 0 else { return .unknown }
            let length = Int64(clamping: Int128(frames) * 1_000_000 / Int128(track.sampleRateHz))
            return .length(microseconds: length, isEstimate: track.exactness != .exact)
        } catch {
            let failure = Failure(of: error)
            return .unreadable("\(source): \(failure.code), \(failure.message)".printable)
        }
    }
}

/// Which source is next, and how many are done: shared by the threads that look.
private final class Counters: Sendable {
    private struct State {
        var next = 0
        var done = 0
        var isStopped = false
    }

    private let count: Int
    private let state = Mutex(State())

    init(_ count: Int) { self.count = count }

    var done: Int { state.withLock { $0.done } }

    func take() -> Int? {
        state.withLock { state in
            guard state.next < count, !state.isStopped else { return nil }
            defer { state.next += 1 }
            return state.next
        }
    }

    func finish() { state.withLock { $0.done += 1 } }
    func stop() { state.withLock { $0.isStopped = true } }
}
