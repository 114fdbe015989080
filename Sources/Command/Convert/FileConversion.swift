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
    let output: String

    static let standardInput = "/dev/stdin"
    static let standardOutput = "/dev/stdout"

    /// How the conversion ended.
    enum Ending: Sendable {
        case completed(ConversionReport, seconds: Double)
        /// The destination exists, and the recipe says to leave it.
        case skipped
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
        let room = ForegroundRoom()
        let ending = run(in: room, keepsRoom: false, showing: display, surrender: surrender)
        if let warning = room.warning { warn(warning) }
        return ending
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
                guard let report = try convert(in: room, keepsRoom, report: report) else { return .skipped }
                return .completed(report, seconds: start.secondsAgo)
            } catch {
                return .failed(Failure(of: error))
            }
        }
        if case .completed(let report, let seconds) = result.value {
            display.finish(frames: report.source.frames, rate: report.source.sampleRateHz, after: seconds)
        } else {
            display.clear()
        }
        // A signal that arrives after publication does not undo it.
        if let signal = result.signal, case .failed = result.value { return .stopped(by: signal) }
        return result.value
    }

    /// `nil` if the destination exists and the recipe says to leave it.
    private func convert(
        in room: ForegroundRoom,
        _ keepsRoom: Bool,
        report: @escaping @Sendable (ConversionProgress) -> Void
    ) throws -> ConversionReport? {
        let sources = try SourceFiles.opening(inputs) { word throws(StorageError) in
            try SourceFile.opening(word: word)
        }
        if output == "-" {
            let work = RoomWork(recipe, from: sources.descriptors, to: STDOUT_FILENO, streams: true)
            return try room.convert(work, report: report)
        }
        let preparation = try OutputFile.prepare(
            at: output,
            onConflict: recipe.outputs[0].onConflict,
            sources: sources.identities,
            mode: .withinSources(sources.permissions)
        )
        switch consume preparation {
        case .skipped:
            return nil
        case .ready(let destination):
            var work = RoomWork(recipe, from: sources.descriptors, to: destination.descriptor)
            // If the file cannot be sealed, only the room's end stops further writes.
            work.endsRoom = !destination.canBeSealed
            let report = try room.convert(work, report: report)
            // The room may end while the file is flushed.
            if !keepsRoom { room.dismiss() }
            if let problem = try evidence(of: destination).objection(to: report, recipe.limits ?? Recipe.Limits()) {
                throw problem.failure
            }
            return try destination.publish() == .published ? report : nil
        }
    }
}

extension FileConversion {
    /// What the room wrote, measured by this process. The room must have reported its result.
    private func evidence(of output: borrowing OutputFile) throws(StorageError) -> OutputEvidence {
        let hasWriters = output.seal() ?? false
        let written = try output.written()
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

extension Duration {
    var seconds: Double { self / .seconds(1) }
}
