import Console
import Conversion
import PumpRoom
import Storage

/// Has a room describe one file, and shows how far it is.
struct SourceInspection: Sendable {
    /// As the user typed it; `-` is standard input.
    let name: String
    let options: ProbeOptions

    init(
        of name: String,
        raw: Recipe.RawDescription?,
        scans: Bool = false,
        measuresLoudness: Bool = false,
        outlinesSound: Bool = false,
        surveysLevels: Bool = false,
        silence: SilenceTrim? = nil,
        points: PointRules? = nil
    ) {
        self.name = name
        var options = ProbeOptions(
            nameHint: name == "-" ? nil : name,
            raw: raw,
            scans: scans,
            measuresLoudness: measuresLoudness,
            outlinesSound: outlinesSound,
            silence: silence,
            points: points
        )
        options.surveysLevels = surveysLevels
        self.options = options
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
        let start = ContinuousClock.now
        let result = room.run(showing: display, since: start) { report -> Result<Facts, Failure> in
            do {
                let source = try SourceFile.opening(word: name)
                let found = try room.describe(source.descriptor, options, report: report)
                return .success(Facts(report: found, bytes: source.kind == .file ? source.byteCount : nil))
            } catch {
                return .failure(Failure(of: error))
            }
        }
        if case .success(let facts) = result.value, let scan = facts.report.scan {
            let rate = facts.report.tracks.first(where: \.isMain)?.sampleRateHz ?? 1
            display.finish(frames: scan.frames, rate: rate, after: start.secondsAgo)
        } else {
            display.clear()
        }
        return result
    }
}
