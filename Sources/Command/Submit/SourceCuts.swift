import Console
import Conversion
import PumpRoom
import Storage

/// Where each source of a submission is cut, for `--split-at`. Rooms describe the sources on this machine; the jobs then
/// state the cuts, and all attempts of a job make the same pieces.
enum SourceCuts {
    /// The pieces of one source, or why it cannot be cut.
    typealias Answer = Result<[SplitPoints.Piece], Reason>

    struct Reason: Error, Sendable {
        let detail: String
        var hint: String?
    }

    static let option = Option<SplitPoints>(
        "split-at",
        .splitPoints,
        "cut each source here: chapters, cue, silence, every 10min, or times",
        in: .edit
    )

    /// Rejects options that `--split-at` has no meaning with.
    static func checkOptions(_ invocation: Invocation) throws(UsageError) {
        guard invocation[option] != nil else { return }
        let others =
            [
                SourceOptions.from.form, SubmitOptions.until.form, SubmitOptions.also.form, SubmitOptions.waveform.form,
                SubmitOptions.spectrogram.form, RecipeTemplate.option.form,
            ]
            + EditOptions.forms + LoudnessOptions.forms + [LoudnessOptions.album.form]
        if let other = others.first(where: { invocation.origin(of: $0) == .commandLine }) {
            throw UsageError(
                "\(other.word) and --split-at exclude each other",
                hint: "submit the pieces again to change them"
            )
        }
        let mode = invocation[SourceOptions.onDamage]
        guard !mode.movesSound else {
            throw UsageError(
                "--on-damage \(mode.rawValue) and --split-at exclude each other: after damage that is left out, cuts come "
                    + "too early",
                hint: "--on-damage conceal keeps the length"
            )
        }
    }

    /// Looks at all sources. Of a library that is cut at CUE sheets, files without one stay whole if others have one. Throws a
    /// `Refusal` if any source cannot be cut, and `StoppedBySignal` if a signal interrupts it.
    static func look(
        into sources: FoundSources,
        at points: SplitPoints,
        _ roots: PathRoots,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws -> [[SplitPoints.Piece]] {
        let (raw, track) = (invocation[SourceOptions.rawInput], invocation[SourceOptions.track])
        let answers = try SourceProbing.run(sources.count, invocation, console) { place, room -> Answer in
            do throws(Reason) {
                return .success(try pieces(of: sources.location(place), points, raw, track, roots, in: room))
            } catch {
                return .failure(error)
            }
        }
        var cuts: [[SplitPoints.Piece]] = []
        var problems = SubmitPlan.Sample()
        var hint: String?
        for (source, answer) in zip(sources, answers) {
            switch answer {
            case .success(let pieces): cuts.append(pieces)
            case .failure(let reason):
                problems.add("\(source.location): \(reason.detail)".printable)
                hint = hint ?? reason.hint
            }
        }
        let uncut = cuts.count(where: \.areUncut)
        if uncut == sources.count {
            let problem = SplitProblem.noSheet
            for source in sources { problems.add("\(source.location): \(problem.detail)".printable) }
            hint = problem.hint
        }
        guard problems.count == 0 else {
            throw Refusal(
                message: "\(Figures.count(problems.count, "file")) cannot be cut; nothing was submitted",
                details: problems.lines,
                hint: hint
            )
        }
        if uncut > 0, !invocation[Question.dryRun] { console.warn(words(uncut: uncut)) }
        return cuts
    }

    /// `2 files without a CUE sheet stay whole`
    static func words(uncut count: Int) -> String {
        "\(Figures.count(count, "file")) without a CUE sheet \(count == 1 ? "stays" : "stay") whole"
    }

    private static func pieces(
        of source: Location,
        _ points: SplitPoints,
        _ raw: Recipe.RawDescription?,
        _ track: Int?,
        _ roots: PathRoots,
        in room: ForegroundRoom
    ) throws(Reason) -> [SplitPoints.Piece] {
        do throws(SplitProblem) {
            guard let path = roots.path(of: source) else {
                if case .times = points { return try bounded(points.pieces(length: nil, chapters: [], silences: [])) }
                guard roots.isServer(source.root) else { throw .elsewhere }
                throw roots.isWebServer(source.root) ? .onWebServer : .inBucket
            }
            var hasScanned = false
            while true {
                let report = try described(path, raw, scans: hasScanned, points.wantedSilence, in: room)
                do throws(SplitProblem) {
                    if let pieces = try points.pieces(of: report, at: path, track: track, hasScanned: hasScanned) {
                        return try bounded(pieces)
                    }
                } catch {
                    guard case .noSheet = error else { throw error }
                    return [SplitPoints.Piece(range: .whole, title: Book.Facts(report)?.title, isUncut: true)]
                }
                hasScanned = true
            }
        } catch {
            throw Reason(detail: error.detail, hint: error.hint)
        }
    }

    private static func bounded(_ pieces: [SplitPoints.Piece]) throws(SplitProblem) -> [SplitPoints.Piece] {
        guard pieces.count <= Recipe.maximumPieces else { throw .tooManyForAJob(pieces.count) }
        return pieces
    }

    private static func described(
        _ path: String,
        _ raw: Recipe.RawDescription?,
        scans: Bool,
        _ silence: SilenceTrim?,
        in room: ForegroundRoom
    ) throws(SplitProblem) -> SourceReport {
        do {
            // Regular files only, as in workers: opening a pipe would wait for a writer.
            let file = try SourceFile.open(path)
            let options = ProbeOptions(nameHint: path, raw: raw, scans: scans, silence: silence)
            return try room.describe(file.descriptor, options) { _ in }
        } catch {
            let failure = Failure(of: error)
            throw .unreadable("\(failure.code), \(failure.message)")
        }
    }
}
