import Conversion
import Glibc
import PumpRoom
import Storage
import Synchronization

/// One recipe carried out on files by name: opened, converted, published.
struct FileConversion: Sendable {
    let recipe: Recipe
    /// As people typed them; `-` for the standard streams.
    let input: String
    let output: String

    static let standardInput = "/dev/stdin"
    static let standardOutput = "/dev/stdout"

    /// How it ended.
    enum Ending: Sendable {
        case completed(ConversionReport, seconds: Double)
        /// There is something at the destination, and it was to be left.
        case skipped
        case failed(Failure)
        case stopped(by: ExitCode)
    }

    /// Runs to the end, or to the first SIGINT, SIGTERM or SIGHUP.
    ///
    /// `warn` is told, once it is over, what people should know of the pump room, and `surrender` before the process ends by a
    /// signal with the conversion still under way.
    func run(
        showing display: ProgressDisplay,
        warn: (String) -> Void,
        surrender: (ExitCode) -> Void
    ) -> Ending {
        let room = ForegroundRoom()
        let latest = Mutex<ConversionProgress?>(nil)
        let clock = ContinuousClock()
        let start = clock.now
        let result = ForegroundWork.run(
            onTick: { display.show(latest.withLock { $0 }, after: (clock.now - start).seconds) },
            onSignal: { room.stop() },
            onSurrender: { code in
                display.clear()
                room.kill()
                surrender(code)
            },
            { () -> Ending in
                defer { room.end() }
                do {
                    guard let report = try convert(in: room, report: { now in latest.withLock { $0 = now } }) else {
                        return .skipped
                    }
                    return .completed(report, seconds: (clock.now - start).seconds)
                } catch {
                    return .failed(Failure(of: error))
                }
            }
        )
        if case .completed(let report, let seconds) = result.value {
            display.finish(frames: report.source.frames, rate: report.source.sampleRateHz, after: seconds)
        } else {
            display.clear()
        }
        if let warning = room.warning { warn(warning) }
        // Published is published: a signal that came too late to stop anything does not undo it.
        if let signal = result.signal, case .failed = result.value { return .stopped(by: signal) }
        return result.value
    }

    /// `nil` if there is something at the destination and it is to be left.
    private func convert(
        in room: ForegroundRoom,
        report: @escaping @Sendable (ConversionProgress) -> Void
    ) throws -> ConversionReport? {
        let source = try SourceFile.opening(word: input)
        if output == "-" {
            let work = RoomWork(recipe, from: source.descriptor, to: STDOUT_FILENO, streams: true)
            return try room.convert(work, report: report)
        }
        let preparation = try OutputFile.prepare(
            at: output,
            onConflict: recipe.outputs[0].onConflict,
            source: source.identity,
            mode: .withinSource(source.permissions)
        )
        switch consume preparation {
        case .skipped:
            return nil
        case .ready(let destination):
            let work = RoomWork(recipe, from: source.descriptor, to: destination.descriptor)
            let report = try room.convert(work, report: report)
            // It ends while the file is flushed.
            room.dismiss()
            return try destination.publish() == .published ? report : nil
        }
    }
}

extension Failure {
    /// Whatever a room threw, in the one form that people and programs read.
    init(of error: any Error) {
        switch error {
        case let error as Failure: self = error
        case let error as StorageError: self = error.failure
        default: self.init(code: "unexpected", kind: .permanent, stage: "open", message: "\(error)")
        }
    }
}

extension Duration {
    var seconds: Double { self / .seconds(1) }
}
