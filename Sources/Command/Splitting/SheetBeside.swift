import Console
import Conversion
import Storage

/// The CUE sheet beside a file or in its tags, by whose tracks that is split.
enum SheetBeside {
    /// The longest sheet that is read. One of 99 tracks has a few kilobytes.
    private static let mostBytes = 1_000_000

    /// The sheet of the same name, as `disc.cue` or `disc.flac.cue` beside `disc.flac`; `nil` if there is none.
    static func sheet(of source: String) throws(SplitProblem) -> CueList? {
        guard let name = source.lastPathName else { return nil }
        let whole = source.utf8.count > name.utf8.count && source.hasSuffix(name)
        let folder = whole ? String(source.unicodeScalars.dropLast(name.unicodeScalars.count)) : ""
        let stem = name.withoutExtension
        let names = ["\(stem).cue", "\(stem).CUE", "\(name).cue"]
        let paths = names.map { folder + $0 }.filter { $0 != source }
        guard let path = paths.first(where: { FileFacts.of(path: $0, followingLinks: true)?.kind == .file }) else {
            return nil
        }
        do {
            let text = ListBytes.text(of: try SourceFile.contents(word: path, limit: mostBytes))
            guard !text.utf8.contains(0) else { throw SplitProblem.unreadable("\(path) is not text") }
            return try CueList(text)
        } catch let problem as SplitProblem {
            throw problem
        } catch let mistake as ListMistake {
            throw .unreadable("\(path): \(mistake.description.printable)")
        } catch let refusal as Refusal {
            throw .unreadable(refusal.message)
        } catch {
            throw .unreadable("\(path): \(error)")
        }
    }
}

extension SheetBeside {
    /// The sheet that a tag of the source holds.
    static func sheet(inTag text: String) throws(SplitProblem) -> CueList {
        do throws(ListMistake) {
            return try CueList(text)
        } catch {
            throw .unreadable("the CUE sheet in its tags: \(error.description.printable)")
        }
    }
}

extension SplitPoints {
    /// Sound in front of the first track that lasts as long is a piece, and shorter sound belongs to the first track.
    static let hiddenTrack = MediaTime(value: 5, timescale: 1)

    /// A piece for each track of the file `name`, with what the sheet says about it.
    static func pieces(
        of sheet: CueList,
        inFile name: String,
        within length: MediaTime?
    ) throws(SplitProblem) -> [Piece] {
        let tracks = sheet.tracks(inFile: name).sorted { $0.start < $1.start }
        guard let first = tracks.first, let last = tracks.last else { throw .noTracks }
        if let length, last.start >= length { throw .beyondEnd(last.start, length) }
        let isHidden = first.start >= hiddenTrack
        var cuts: [MediaTime] = []
        var heard: [CueList.Track] = []
        for track in tracks where heard.last?.start != track.start {
            if !heard.isEmpty || isHidden { cuts.append(track.start) }
            heard.append(track)
        }
        var pieces = try pieces(at: cuts)
        let offset = isHidden ? 1 : 0
        let numbers = heard.compactMap(\.number).filter { (1...9_999).contains($0) }
        let areNumbered = numbers.count == heard.count && zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }
        for index in pieces.indices {
            let track = index < offset ? nil : heard[index - offset]
            pieces[index].title = track?.title
            if areNumbered { pieces[index].number = track?.number ?? 0 }
            pieces[index].tags = sheet.tags(of: track)
        }
        return pieces
    }
}

extension CueList {
    /// The tags of a track, apart from its title and number; those of the disc for sound in front of the tracks.
    fileprivate func tags(of track: Track?) -> [String: String] {
        let known: [(String, String?)] = [
            ("album", title), ("albumartist", performer), ("artist", track?.performer ?? performer), ("date", date),
            ("genre", genre), ("isrc", track?.isrc),
        ]
        var tags: [String: String] = [:]
        for (name, value) in known { tags[name] = value }
        return tags
    }
}

extension [SplitPoints.Piece] {
    /// The number of the piece at `index`: that of its track, or else its place.
    func number(_ index: Int) -> Int { self[index].number ?? index + 1 }

    /// Whether it is one file that is not cut.
    var areUncut: Bool { first?.isUncut ?? false }

    /// The number of the last piece.
    var lastNumber: Int { isEmpty ? 0 : number(count - 1) }
}
