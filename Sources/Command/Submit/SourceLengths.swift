import Console
import Conversion
import Dispatch
import Glibc
import PumpRoom
import Storage
import Synchronization

/// The total length of a plan's sources, which pump rooms measure by probing each file.
struct SourceLengths: Sendable {
    /// An integer, so that adding many sources loses nothing.
    private(set) var microseconds: Int64 = 0
    /// Sources whose length is an estimate (`estimates`), or can only be found by decoding (`unknown`).
    private(set) var estimates = 0
    private(set) var unknown = 0
    /// Sources under roots that are not on this machine.
    private(set) var elsewhere = 0
    /// Sources that could not be read, each with the reason.
    private(set) var unreadable = SubmitPlan.Sample()

    var seconds: Double { Double(microseconds) / 1e6 }

    /// The result for one source.
    private enum Finding: Sendable {
        case length(microseconds: Int64, isEstimate: Bool)
        case unknown
        case elsewhere
        case unreadable(String)
    }

    private mutating func add(_ finding: Finding) {
        switch finding {
        case .length(let length, let isEstimate):
            // Saturate on overflow: rooms and file headers may report any length, and there are many files.
            let (sum, overflows) = microseconds.addingReportingOverflow(length)
            microseconds = overflows ? .max : sum
            if isEstimate { estimates += 1 }
        case .unknown: unknown += 1
        case .elsewhere: elsewhere += 1
        case .unreadable(let reason): unreadable.add(reason)
        }
    }

    /// Probes all sources, one per processor at a time. Throws `StoppedBySignal` if a signal interrupts it.
    static func look(
        into plan: SubmitPlan,
        _ roots: PathRoots,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws -> SourceLengths {
        let items = plan.items
        let rooms = (0..<min(items.count, max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))).map { _ in
            ForegroundRoom()
        }
        let bar = CountBar(of: items.count, "file", outlet: console.talk)
        let isShown = invocation[ProgressStyle.option] != .none
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
                // Restore the order of the plan: rooms finish in any order.
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
            // Regular files only, as in workers: opening a pipe would wait for a writer.
            let file = try SourceFile.open(path)
            let options = ProbeOptions(nameHint: path, raw: raw)
            let report = try room.describe(file.descriptor, options) { _ in }
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

/// The next source and the number of finished ones, shared by the threads that probe.
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
