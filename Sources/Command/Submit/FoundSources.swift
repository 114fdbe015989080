import Conversion
import Ledger
import Storage

/// A file to convert.
struct FoundSource: Sendable {
    let location: Location
    /// The path from which `{dir}` and `{stem}` are taken.
    let relative: String
    /// The book that it is the first file of; `nil` for a file by itself.
    var book: SubmitBook?
    /// Known of objects in buckets, and of books of them. Files of this machine are looked at later.
    var stamp: SourceStamp?
}

/// The files of a submission in their order. A million of them take some tens of bytes each, so a file is put together
/// when it is asked for.
struct FoundSources: RandomAccessCollection, Sendable {
    private var locations = PackedTexts()
    /// How many bytes at the end of each location are its relative path; -1 for a path in `others`.
    private var relativeCounts: [Int16] = []
    private var others: [Int: String] = [:]
    private var books: [Int: SubmitBook] = [:]
    /// Those of the first sources, as far as the last one that has a stamp.
    private var stamps: [SourceStamp] = []
    /// Stands for a stamp that is not known: no file has this length.
    private static let noStamp = SourceStamp(bytes: .min, modified: .min)

    init() {}

    init(_ sources: [FoundSource]) { for source in sources { append(source) } }

    var startIndex: Int { 0 }
    var endIndex: Int { locations.count }

    subscript(place: Int) -> FoundSource {
        let location = location(place)
        let count = Int(relativeCounts[place])
        let path = location.path
        let relative: String =
            if count < 0 {
                others[place] ?? path
            } else {
                count == path.utf8.count ? path : String(Substring(path.utf8.suffix(count)))
            }
        return FoundSource(location: location, relative: relative, book: books[place], stamp: stamp(place))
    }

    func location(_ place: Int) -> Location { Location(ofDescription: locations[place]) }

    private func stamp(_ place: Int) -> SourceStamp? {
        place < stamps.count && stamps[place] != Self.noStamp ? stamps[place] : nil
    }

    mutating func set(_ stamp: SourceStamp?, of place: Int) {
        guard stamp != nil || place < stamps.count else { return }
        while stamps.count <= place { stamps.append(Self.noStamp) }
        stamps[place] = stamp ?? Self.noStamp
    }

    mutating func append(_ source: FoundSource) {
        let (place, path, relative) = (count, source.location.path.utf8, source.relative.utf8)
        if relative.count <= Int(Int16.max), path.suffix(relative.count).elementsEqual(relative) {
            relativeCounts.append(Int16(relative.count))
        } else {
            relativeCounts.append(-1)
            others[place] = source.relative
        }
        if let book = source.book { books[place] = book }
        locations.append(source.location.description)
        set(source.stamp, of: place)
    }
}
