import Conversion
import Storage

extension SplitPoints {
    /// The pieces of the source that `report` describes; `nil` if it must be decoded to find its length, where the report
    /// was made without that (`hasScanned`). `number` is the track that is cut, the main one if `nil`. `path` is where the
    /// source is.
    func pieces(
        of report: SourceReport,
        at path: String,
        track number: Int?,
        hasScanned: Bool
    ) throws(SplitProblem) -> [Piece]? {
        let silences = try Self.silences(in: report, number)
        let length = try Self.length(of: report, number)
        if case .every = self, length == nil, !hasScanned { return nil }
        if self == .cue, let pieces = try Self.piecesOfSheet(for: report, at: path, within: length) { return pieces }
        if self == .cue, report.chapters.isEmpty { throw .noSheet }
        if self == .chapters || self == .cue, report.unlistedChapters != nil { throw .tooManyChapters }
        return try pieces(length: length, chapters: report.chapters, silences: silences)
    }

    /// By the CUE sheet beside the file, or else by the one in its tags; `nil` if there is none.
    private static func piecesOfSheet(
        for report: SourceReport,
        at path: String,
        within length: MediaTime?
    ) throws(SplitProblem) -> [Piece]? {
        let name = path.lastPathName ?? path
        if let sheet = try SheetBeside.sheet(of: path) { return try pieces(of: sheet, inFile: name, within: length) }
        guard let text = report.sheet else { return nil }
        do throws(SplitProblem) {
            return try pieces(of: try SheetBeside.sheet(inTag: text), inFile: name, within: length)
        } catch {
            // The file may state its tracks in another place, as in FLAC's own block.
            guard report.chapters.isEmpty else { return nil }
            throw error
        }
    }

    /// The length of the track that is split; `nil` if the file does not state it to the frame.
    private static func length(of report: SourceReport, _ number: Int?) throws(SplitProblem) -> MediaTime? {
        let wanted = report.tracks.first { track in number.map { track.track == $0 } ?? track.isMain }
        guard let track = wanted else { return nil }
        if track.isMain, let scan = report.scan { return MediaTime(frames: scan.frames, rate: track.sampleRateHz) }
        if report.scan != nil { throw .unknownLength(track: track.track) }
        guard track.exactness == .exact, let frames = track.frames else { return nil }
        return MediaTime(frames: frames, rate: track.sampleRateHz)
    }

    /// The middle of each silence that was found; empty if none was searched for.
    private static func silences(in report: SourceReport, _ number: Int?) throws(SplitProblem) -> [MediaTime] {
        guard let frames = report.silences, let main = report.tracks.first(where: \.isMain) else { return [] }
        guard number ?? main.track == main.track else { throw .otherTrack(main: main.track) }
        return frames.map { MediaTime(frames: $0, rate: main.sampleRateHz) }
    }
}

extension SourceReport {
    /// The CUE sheet in the tags; `nil` without one, and for one that is too long for the report.
    fileprivate var sheet: String? {
        guard let tag = tags.first(where: { $0.name.lowercased() == "cuesheet" }) else { return nil }
        let text = tag.values?.first ?? tag.value
        return text.hasSuffix("…") ? nil : text
    }
}

extension SplitPoints.Piece {
    /// The tags that tell piece `number` of `count` apart, without those that `wished` sets under any of their names.
    func tags(
        _ number: Int,
        of count: Int,
        besides wished: [String: Recipe.TagValues]
    ) -> [String: Recipe.TagValues] {
        var own = self.tags
        // A total that the user sets stands beside the number.
        let names = Set(wished.keys.map(TagTable.commonName(ofKey:)))
        own["track"] = names.contains("totaltracks") ? "\(number)" : "\(number)/\(count)"
        if let title, !title.isEmpty { own["title"] = title }
        return own.filter { !names.contains(TagTable.commonName(ofKey: $0.key)) }.mapValues { Recipe.TagValues($0) }
    }
}
