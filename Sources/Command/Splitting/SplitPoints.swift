import Console
import Conversion

/// Where a source is cut into pieces.
enum SplitPoints: Sendable, Hashable {
    /// At the start of each of its chapters.
    case chapters
    /// At the tracks of the CUE sheet beside it, or else of the one in its tags, or else at its chapters.
    case cue
    /// After each of these lengths.
    case every(MediaTime)
    /// At these times, which increase.
    case times([MediaTime])
    /// In the middle of each silence between sounds.
    case silence(SilenceTrim)

    /// What counts as silence if the user does not say.
    static let usualSilence = PointRules.usualSilence

    /// One part of a source.
    struct Piece: Sendable, Hashable {
        let range: MediaTimeRange
        /// The title of its chapter.
        var title: String?
        /// The number of its track in a CUE sheet, 0 in front of the first one; `nil` for its place among the pieces.
        var number: Int?
        /// What a CUE sheet says about it besides.
        var tags: [String: String] = [:]
        /// Whether it is all of a file that is not cut, as it has no CUE sheet.
        var isUncut = false
    }

    /// More are probably a mistake, as in milliseconds for minutes.
    static let mostPieces = 10_000

    /// What counts as silence if the source is cut at silences; `nil` for other points.
    var wantedSilence: SilenceTrim? { if case .silence(let silence) = self { silence } else { nil } }

    /// The pieces of a source of this length, in order and without a gap. The length may be unknown for times alone;
    /// then a time beyond the end fails when its piece is read.
    /// `silences` are the times in the middle of the silences.
    func pieces(
        length: MediaTime?,
        chapters: [ChapterReport],
        silences: [MediaTime]
    ) throws(SplitProblem) -> [Piece] {
        switch self {
        case .chapters, .cue: return try Self.pieces(at: chapters, within: length)
        case .every(let step): return try Self.pieces(at: Self.multiples(of: step, below: length ?? .zero))
        case .times(let times):
            if let length, let late = times.first(where: { $0 >= length }) { throw .beyondEnd(late, length) }
            return try Self.pieces(at: times)
        case .silence(let silence):
            guard !silences.isEmpty else { throw .noSilence(silence) }
            guard silences.count <= SourceReport.mostSilences else { throw .tooManySilences }
            return try Self.pieces(at: silences)
        }
    }

    private static func pieces(
        at chapters: [ChapterReport],
        within length: MediaTime?
    ) throws(SplitProblem) -> [Piece] {
        guard !chapters.isEmpty else { throw .noChapters }
        let starts = Dictionary(chapters.map { ($0.start, $0.title) }) { first, _ in first }
        let cuts = starts.keys.filter { $0 > .zero && $0 < length ?? .positiveInfinity }.sorted()
        var pieces = try pieces(at: cuts)
        for index in pieces.indices { pieces[index].title = starts[pieces[index].range.start] ?? nil }
        return pieces
    }

    private static func multiples(of step: MediaTime, below length: MediaTime) -> [MediaTime] {
        var (times, next) = ([MediaTime](), step)
        while next < length, times.count <= mostPieces {
            times.append(next)
            next = next + step
        }
        return times
    }

    /// The pieces between `cuts`, which increase.
    static func pieces(at cuts: [MediaTime]) throws(SplitProblem) -> [Piece] {
        guard cuts.count < mostPieces else { throw .tooMany }
        return zip([.zero] + cuts, cuts + [.positiveInfinity]).compactMap { start, end in
            // `try?`: the cuts increase, and ordered times always make a range.
            (try? MediaTimeRange(start: start, end: end)).map { Piece(range: $0) }
        }
    }
}

/// Why a source cannot be split as the user wishes.
enum SplitProblem: Error, Hashable {
    case noChapters
    /// Neither a CUE sheet beside the file nor chapters in it.
    case noSheet
    /// The CUE sheet has no tracks of this file.
    case noTracks
    case beyondEnd(MediaTime, MediaTime)
    case tooMany
    case noSilence(SilenceTrim)
    case tooManySilences
    /// The report on the file lists only some of its chapters.
    case tooManyChapters
    /// A track other than the main one, whose end only decoding would find.
    case unknownLength(track: Int)
    /// Silence is searched for only in the main track.
    case otherTrack(main: Int)
    case unreadable(String)
    /// The source is not on this machine, so its cuts are not known.
    case elsewhere
    /// This machine looks into its own files only.
    case inBucket, onWebServer
    case tooManyForAJob(Int)

    var detail: String {
        switch self {
        case .noChapters: "the file has no chapters"
        case .noSheet: "no CUE sheet beside the file or in it"
        case .noTracks: "the CUE sheet has no tracks of this file"
        case .beyondEnd(let time, let length): "\(time.short) is beyond the end: the file ends at \(length.short)"
        case .tooMany: "more than \(Figures.count(SplitPoints.mostPieces, "piece"))"
        case .noSilence(let silence):
            "no silence of at least \(silence.shortest.short) between sounds: none that stays at or below "
                + "\(silence.threshold)"
        case .tooManySilences: "more than \(Figures.count(SourceReport.mostSilences, "silence"))"
        case .tooManyChapters: "the file has too many chapters to list"
        case .unknownLength(let track): "track \(track) does not state its length"
        case .unreadable(let why): why
        case .elsewhere: "is not on this machine, which has to look where to cut it"
        case .inBucket: "is in a bucket, and only files of this machine are searched for cuts"
        case .onWebServer: "is on a web server, and only files of this machine are searched for cuts"
        case .tooManyForAJob(let count): "\(Figures.count(count, "piece")); a job makes up to \(Recipe.maximumPieces)"
        case .otherTrack(let main): "silence is searched for only in the main track, \(main)"
        }
    }

    var hint: String? {
        switch self {
        case .noChapters: "give times, as in 1:00,2:30, or a length, as in 'every 10min'"
        case .noSilence: "allow a higher level or a shorter silence, as in 'silence -50dB/0.3s'"
        case .noSheet: "name it as the file, as in disc.cue beside disc.flac"
        case .tooManySilences: "ask for longer silence, as in 'silence -60dB/2s'"
        case .tooManyChapters: "give times, as in 1:00,2:30"
        case .unknownLength: "give times"
        case .otherTrack: "give times, as in 1:00,2:30"
        case .elsewhere: "name its root with --root NAME=PATH, or give times, as in --split-at 1:00,2:30"
        case .inBucket, .onWebServer: "give times, as in --split-at 1:00,2:30"
        case .tooManyForAJob: "\"sluice split\" makes more, one after another"
        case .noTracks: "of several FILE lines in the sheet, one must name this file"
        case .beyondEnd, .tooMany, .unreadable: nil
        }
    }
}

extension ValueType where Value == SplitPoints {
    /// `chapters`, `cue`, `silence -60dB/0.5s`, `every 10min`, `1:00,2:30`
    static let splitPoints = ValueType(
        placeholder: "WHERE",
        completion: .suggestions(
            ["chapters", "cue", "silence", "silence -50dB/1s", "every 10min", "1:00,2:30"].map { .init(word: $0) }
        )
    ) { text throws(Misfit) in
        if text == "chapters" { return .chapters }
        if text == "cue" { return .cue }
        if text == "silence" { return .silence(SplitPoints.usualSilence) }
        if text.hasPrefix("silence ") {
            let words = text.dropFirst("silence ".count)
            let silence: SilenceTrim
            do throws(EditTextError) {
                silence = try SilenceTrim(parsing: words)
            } catch {
                throw Misfit(why: "is not a place to cut: \(error)", hint: "as in 'silence -60dB/0.5s'")
            }
            guard silence.ends == .both, silence.shortest > .zero else {
                throw Misfit(why: "must be a level and a length above 0", hint: "as in 'silence -60dB/0.5s'")
            }
            return .silence(silence)
        }
        if text.hasPrefix("every ") {
            let word = String(text.dropFirst("every ".count))
            let length: MediaTime
            // `try?`: what is not a duration may be a time, as in 10:00.
            if let duration = try? ValueType<Duration>.duration.read(word) {
                length = MediaTime(value: duration.components.seconds, timescale: 1)
            } else {
                length = try ValueType<MediaTime>.time.read(word)
            }
            guard length > .zero else { throw Misfit(why: "must be longer than nothing") }
            return .every(length)
        }
        var times: [MediaTime] = []
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            // `try?`: the message names all that may be said here, not only times.
            guard let time = try? ValueType<MediaTime>.time.read(String(word)) else {
                let hint = "as in chapters, cue, silence, 'every 10min', or 1:00,2:30"
                throw Misfit(why: "is not a place to cut", hint: hint)
            }
            guard time > times.last ?? .zero else { throw Misfit(why: "must be times after the start that increase") }
            times.append(time)
        }
        return .times(times)
    }
}
