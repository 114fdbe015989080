import Conversion
import Storage

/// A file to convert.
struct FoundSource: Sendable {
    let location: Location
    /// The path from which `{dir}` and `{stem}` are taken.
    let relative: String
    /// The book that it is the first file of; `nil` for a file by itself.
    var book: SubmitBook?
}

/// The files of a submission in their order. A million of them take some tens of bytes each, so a file is put together
/// when it is asked for.
struct FoundSources: RandomAccessCollection, Sendable {
    private var locations = PackedTexts()
    /// How many bytes at the end of each location are its relative path; -1 for a path in `others`.
    private var relativeCounts: [Int16] = []
    private var others: [Int: String] = [:]
    private var books: [Int: SubmitBook] = [:]

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
        return FoundSource(location: location, relative: relative, book: books[place])
    }

    func location(_ place: Int) -> Location { Location(ofDescription: locations[place]) }

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
    }
}
