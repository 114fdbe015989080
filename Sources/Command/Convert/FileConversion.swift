import Console
import Conversion
import Glibc
import PumpRoom
import Storage

/// Carries out one recipe on files given by name: opens, converts and publishes.
struct FileConversion: Sendable {
    let recipe: Recipe
    /// As the user typed them, in the order of the recipe; `-` means a standard stream.
    let inputs: [String]
    /// The same for the outputs; a standard stream is the only one.
    let outputs: [String]

    static let standardInput = "/dev/stdin"
    static let standardOutput = "/dev/stdout"

    /// What became of one output.
    struct Written: Sendable {
        let output: String
        /// `nil` if the destination exists and the recipe says to leave it.
        var report: ConversionReport?
    }

    /// How the conversion ended.
    enum Ending: Sendable {
        case completed([Written], seconds: Double)
        case failed(Failure)
        case stopped(by: ExitCode)
    }

    /// Runs to the end, or until the first SIGINT, SIGTERM or SIGHUP.
    ///
    /// Calls `warn` at the end with what users should know about the pump room, and `surrender` before a signal
    /// ends the process with the conversion still under way.
    func run(
        showing display: ProgressDisplay,
        warn: (String) -> Void,
        surrender: (ExitCode) -> Void
    ) -> Ending {
        ForegroundRoom.lend { room in
            let ending = run(in: room, keepsRoom: false, showing: display, surrender: surrender)
            if let warning = room.warning { warn(warning) }
            return ending
        }
    }

    /// The same in a room of the caller's, which ends with the conversion unless `keepsRoom`.
    func run(
        in room: ForegroundRoom,
        keepsRoom: Bool,
        showing display: ProgressDisplay,
        surrender: (ExitCode) -> Void
    ) -> Ending {
        let start = ContinuousClock.now
        let result = room.run(showing: display, since: start, surrender: surrender) { report -> Ending in
            defer { if !keepsRoom { room.end() } }
            do {
                return .completed(try convert(in: room, keepsRoom, report: report), seconds: start.secondsAgo)
            } catch {
                return .failed(Failure(of: error))
            }
        }
        if case .completed(let written, let seconds) = result.value, let report = written.compactMap(\.report).first {
            display.finish(frames: report.source.frames, rate: report.source.sampleRateHz, after: seconds)
        } else {
            display.clear()
        }
        // A signal that arrives after publication does not undo it.
        if let signal = result.signal, case .failed = result.value { return .stopped(by: signal) }
        return result.value
    }

    private func convert(
        in room: ForegroundRoom,
        _ keepsRoom: Bool,
        report: @escaping @Sendable (ConversionProgress) -> Void
    ) throws -> [Written] {
        let sources = try SourceFiles.opening(inputs) { word throws(StorageError) in
            try SourceFile.opening(word: word)
        }
        if outputs == ["-"] {
            let work = RoomWork(recipe, from: sources.descriptors, to: STDOUT_FILENO, streams: true)
            let report = try room.convert(work, report: report)[0]
            guard sources.areUnchanged else { throw Failure.sourceChanged() }
            return [Written(output: "-", report: report)]
        }
        var written = outputs.map { Written(output: $0) }
        var files = OutputSet()
        var wanted: [Int] = []
        for (index, output) in outputs.enumerated() {
            let preparation = try OutputFile.prepare(
                at: output,
                onConflict: recipe.outputs[index].onConflict,
                sources: sources.identities,
                mode: .withinSources(sources.permissions)
            )
            switch consume preparation {
            case .skipped: break
            case .ready(let file):
                files.add(file)
                wanted.append(index)
            }
        }
        guard !wanted.isEmpty else { return written }
        let recipe = recipe.reduced(to: wanted)
        var work = RoomWork(recipe, from: sources.descriptors, to: files.descriptors)
        // If a file cannot be sealed, only the room's end stops further writes.
        work.endsRoom = !files.canBeSealed
        let reports: [ConversionReport]
        do throws(Failure) {
            reports = try room.convert(work, report: report)
        } catch {
            throw numbered(error, among: wanted)
        }
        // The room may end while the files are flushed.
        if !keepsRoom { room.dismiss() }
        for (place, report) in reports.enumerated() {
            let evidence = try evidence(of: files, place)
            guard let problem = evidence.objection(to: report, recipe.limits ?? Recipe.Limits()) else { continue }
            var failure = problem.failure
            failure.output = place + 1
            throw numbered(failure, among: wanted)
        }
        guard sources.areUnchanged else { throw Failure.sourceChanged() }
        for (place, outcome) in try files.publish().enumerated() where outcome == .published {
            written[wanted[place]].report = reports[place]
        }
        return written
    }
}

extension FileConversion {
    /// `failure`, which counts only the outputs that are written, with the number that its output has in the recipe.
    private func numbered(_ failure: Failure, among wanted: [Int]) -> Failure {
        var failure = failure
        failure.output = failure.output.flatMap { outputs.count > 1 ? wanted[$0 - 1] + 1 : nil }
        return failure
    }

    /// What the room wrote into one file, measured by this process. The room must have reported its result.
    private func evidence(of files: borrowing OutputSet, _ index: Int) throws(StorageError) -> OutputEvidence {
        let hasWriters = files.seal(index) ?? false
        let written = try files.written(index)
        return OutputEvidence(byteCount: written.byteCount, hasHoles: written.hasHoles, hasWriters: hasWriters)
    }
}

extension Failure {
    /// Turns any error of a room into the one form that people and programs read.
    init(of error: any Error) {
        switch error {
        case let error as Failure: self = error
        case let error as StorageError: self = error.failure
        default: self.init(.unexpected, at: .open, "\(error)")
        }
    }
}
