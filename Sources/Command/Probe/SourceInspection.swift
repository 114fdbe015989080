import Console
import Conversion
import PumpRoom
import Storage
import Synchronization

/// Has a room describe one file, and shows how far it is.
struct SourceInspection: Sendable {
    /// As the user typed it; `-` is standard input.
    let name: String
    let options: ProbeOptions

    init(of name: String, raw: Recipe.RawDescription?, scans: Bool = false, measuresLoudness: Bool = false) {
        self.name = name
        options = ProbeOptions(
            nameHint: name == "-" ? nil : name,
            raw: raw,
            scans: scans,
            measuresLoudness: measuresLoudness
        )
    }

    struct Facts: Sendable {
        let report: SourceReport
        /// `nil` for pipes and devices.
        let bytes: Int64?
    }

    /// Runs to the end, or until the first SIGINT, SIGTERM or SIGHUP.
    func run(
        in room: ForegroundRoom,
        _ style: ProgressStyle,
        _ console: CommandOutput
    ) -> ForegroundWork.Result<Result<Facts, Failure>> {
        let display = ProgressDisplay(style, title: name == "-" ? "standard input" : name, outlet: console.talk)
        let latest = Mutex<ConversionProgress?>(nil)
        let clock = ContinuousClock()
        let start = clock.now
        let result = ForegroundWork.run(
            onTick: { display.show(latest.withLock { $0 }, after: (clock.now - start).seconds) },
            onSignal: { room.stop() },
            onSurrender: { _ in
                display.clear()
                room.kill()
            },
            { () -> Result<Facts, Failure> in
                do {
                    let source = try SourceFile.opening(word: name)
                    let report = try room.describe(source.descriptor, options) { now in latest.withLock { $0 = now } }
                    return .success(Facts(report: report, bytes: source.kind == .file ? source.byteCount : nil))
                } catch {
                    return .failure(Failure(of: error))
                }
            }
        )
        if case .success(let facts) = result.value, let scan = facts.report.scan {
            let rate = facts.report.tracks.first(where: \.isMain)?.sampleRateHz ?? 1
            display.finish(frames: scan.frames, rate: rate, after: (clock.now - start).seconds)
        } else {
            display.clear()
        }
        return result
    }
}
