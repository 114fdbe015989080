import Console
import Conversion
import PumpRoom
import Storage

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
        let (files, raw) = (plan.items.flatMap(\.files), invocation[SourceOptions.rawInput])
        return try SourceProbing.run(files.count, invocation, console) { place, room in
            finding(of: files[place], raw, roots, in: room)
        }.reduce(into: SourceLengths()) { $0.add($1) }
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
