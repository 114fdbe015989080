import Console
import Conversion
import Ledger
import Storage

/// A folder of a submission whose files are joined. A class: of a million sources, most have none.
final class SubmitBook: Sendable {
    let book: Book
    /// The files behind the first one.
    let others: [Location]
    /// The picture beside them that becomes the cover, if there is one.
    let pictures: [Location]
    /// Whether packets are copied where they can be joined.
    let copiesPackets: Bool

    init(_ book: Book, others: [Location], pictures: [Location] = [], copiesPackets: Bool = false) {
        (self.book, self.others, self.pictures, self.copiesPackets) = (book, others, pictures, copiesPackets)
    }

    /// Whether the packets would be copied; `nil` if that was not asked for, or no room has looked at the files.
    var copying: BookPage.Copying? {
        guard copiesPackets, book.files.contains(where: { $0.facts != nil }) else { return nil }
        return BookPage.Copying(unless: BookPackets.reasonAgainstCopying(book.files), encodes: true)
    }
}

/// The folders of a submission that become one file each, for `--join-folders`.
enum SubmitBooks {
    static let option = Switch(
        "join-folders",
        "join the files of each folder into one output, with a chapter for each file",
        in: .edit
    )

    /// Rejects options that `--join-folders` has no meaning with, or that have none without it.
    static func checkOptions(_ invocation: Invocation) throws(UsageError) {
        let own = [BookOptions.order.form, BookOptions.strict.form, BookOptions.copyPackets.form]
        guard invocation[option] else {
            guard let other = own.first(where: { invocation.origin(of: $0) == .commandLine }) else { return }
            throw UsageError("\(other.word) needs \(option.form.word)")
        }
        let others =
            [
                SourceOptions.from.form, SubmitOptions.until.form, SourceCuts.option.form, RecipeTemplate.option.form,
            ] + EditOptions.forms
        if let other = others.first(where: { invocation.origin(of: $0) == .commandLine }) {
            throw UsageError(
                "\(other.word) and \(option.form.word) exclude each other",
                hint: "submit the outputs again to change them"
            )
        }
        if case .list = invocation[BookOptions.order] {
            throw UsageError(
                "\(BookOptions.order.form.word): a list orders the files of one folder",
                hint: "\"sluice join FOLDER OUT --order FILE\" takes one; here, give tags or names"
            )
        }
    }

    private static func groups(_ found: [FoundSource], _ paths: [String?]) -> [BookFolders.Group] {
        BookFolders.groups(zip(found, paths).map { ($1 ?? $0.location.description, $0.relative) })
    }

    /// The fields of the template are those of the folder: `{stem}` is its name.
    private static func relative(_ group: BookFolders.Group, first: Location) -> String {
        let ending = first.name.ownExtension
        let stem = group.folder.lastPathName ?? group.folder
        return "\(group.folder)/\(stem)" + (ending.isEmpty ? "" : ".\(ending)")
    }

    /// The files that are parts of books: all but the outputs of these books, which the library may hold since they were
    /// made.
    static func sources(
        _ found: [FoundSource],
        besides outputs: [OutputTemplate],
        _ roots: PathRoots,
        _ console: CommandOutput
    ) -> [FoundSource] {
        let places = found.map(\.location)
        let groups = groups(found, places.map { roots.path(of: $0) })
        let made = BookFolders.outputs(of: groups, among: places) { group in
            // `try?`: the plan tells which names cannot be used.
            let named = group.members.first.flatMap { try? Location("source:\(relative(group, first: places[$0]))") }
            return outputs.compactMap { output in named.flatMap { try? output.location(for: $0) } }
        }
        guard !made.isEmpty else { return found }
        console.warn("\(Figures.count(made.count, "file")) that this submission writes left out")
        return found.filter { !made.contains($0.location) }
    }

    /// One source for each folder. Rooms read the tags of the files if these decide the order, or if the user asked to probe.
    /// `links` were not followed. Throws a `Refusal` for a folder with more files than a job can read besides `commonCount`
    /// others.
    static func join(
        _ found: [FoundSource],
        besides commonCount: Int,
        links: [FolderWalk.Link],
        _ roots: PathRoots,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws -> [FoundSource] {
        let paths = found.map { roots.path(of: $0.location) }
        let groups = groups(found, paths)
        // Before rooms open the files of a whole library in vain.
        let most = Timeline.maximumSources - commonCount
        if let large = groups.first(where: { $0.members.count > most }) {
            throw Refusal(
                message: "\(large.folder) has \(Figures.count(large.members.count, "file")); a job joins up to "
                    + "\(most); nothing was submitted",
                hint: "leave some out with --exclude, or join the parts of the folder first"
            )
        }
        var names = [String](repeating: "", count: found.count)
        for group in groups { for (index, name) in zip(group.members, group.names) { names[index] = name } }
        var files = found.indices.map { Book.File(place: found[$0].location.description, name: names[$0]) }
        let order = invocation[BookOptions.order] ?? .names
        try checkObjects(found, order, roots, invocation, console)
        var probed: [Book.File]?
        if order == .tags || invocation[SubmitOptions.probe] {
            let places = Dictionary(zip(files.map(\.place), paths)) { first, _ in first }
            probed = try BookProbing.look(into: files, raw: invocation[SourceOptions.rawInput], invocation, console) {
                places[$0.place] ?? nil
            }
        }
        if order == .tags, let known = probed { (files, probed) = (known, nil) }
        return groups.map { group in
            let known = group.members.map { (files[$0].place, found[$0].location) }
            let locations = Dictionary(known) { first, _ in first }
            var book = Book(group.members.map { files[$0] }, in: group.folder, order: order)
            book.doubts = group.doubts(links) + book.doubts
            book.doubtRepeatedFiles(in: group.folder) { file in locations[file.place].flatMap { roots.path(of: $0) } }
            let places = book.files.compactMap { locations[$0.place] }
            var source = FoundSource(location: places[0], relative: relative(group, first: places[0]))
            let hasTags = !invocation[ConvertCommand.noTags]
            if hasTags, BesideBook.hasLists(beside: group.members.compactMap { paths[$0] }) {
                book.takeMarks { file in locations[file.place].flatMap { roots.path(of: $0) } }
            }
            let takesCover = hasTags && invocation[CoverOption.option] == nil
            let pictures = takesCover ? cover(of: &book, places[0], roots) : []
            // For the page alone: the submission itself opens no sound, and the dry run shows what it would do.
            if let probed { book.show(group.members.map { probed[$0] }) }
            source.book = SubmitBook(
                book,
                others: Array(places.dropFirst()),
                pictures: pictures,
                copiesPackets: invocation[BookOptions.copyPackets]
            )
            source.stamp = stamp(of: book, group.members.map { found[$0] })
            return source
        }
    }

    /// Refuses what needs the contents of sources in buckets and on web servers, and warns of pictures there that will be
    /// missing.
    private static func checkObjects(
        _ found: [FoundSource],
        _ order: BookOrder,
        _ roots: PathRoots,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws {
        guard let first = found.first(where: { roots.isServer($0.location.root) }) else { return }
        let isOnWeb = roots.isWebServer(first.location.root)
        if order == .tags {
            let place = isOnWeb ? "on a web server" : "in a bucket"
            throw UsageError(
                "\(BookOptions.order.form.word) tags: \(first.location) is \(place), and no file there is opened here"
                    .printable,
                hint: "\(BookOptions.order.form.word) names needs their names only"
            )
        }
        guard !invocation[ConvertCommand.noTags], invocation[CoverOption.option] == nil else { return }
        let sources = isOnWeb ? "files on web servers" : "objects in buckets"
        console.warn("covers and lists of chapters beside \(sources) are left out; --cover names a picture")
    }

    /// The stamp of a book whose files are all in buckets; `nil` for others.
    private static func stamp(of book: Book, _ found: [FoundSource]) -> SourceStamp? {
        let known = Dictionary(found.map { ($0.location.description, $0.stamp) }) { first, _ in first }
        var files: [(place: String, stamp: SourceStamp)] = []
        for file in book.files {
            guard let stamp = known[file.place] ?? nil else { return nil }
            files.append((file.place, stamp))
        }
        return SourceStamp.whole(files)
    }

    /// The picture beside the files of a book, unless its first file is known to have a cover; none if its folder is not on
    /// this machine. The book is told which files are none.
    private static func cover(of book: inout Book, _ first: Location, _ roots: PathRoots) -> [Location] {
        guard book.files[0].facts?.cover == nil, let path = roots.path(of: first) else { return [] }
        // That of the disc, and that of the book around it.
        let own = path.parentName
        let folders = book.files[0].name.utf8.contains(UInt8(ascii: "/")) ? [own.parentName, own] : [own]
        let found = BesideBook.cover(in: folders)
        book.doubts += found.doubts
        guard let picture = found.path else { return [] }
        let place = roots.place(of: picture).map { "\($0.root.name):\($0.below)" }
        // `try?`: a picture whose name cannot be used is none.
        let location = place.map { try? Location($0) } ?? (try? roots.uploads?.location(of: picture))
        return [location].compactMap(\.self)
    }

    /// Notes the doubts about the order of files, or with `--strict` refuses them. A dry run shows them with each book.
    static func remark(_ sources: [FoundSource], _ invocation: Invocation, _ console: CommandOutput) throws {
        guard !invocation[Question.dryRun] else { return }
        var doubts = SubmitPlan.Sample()
        for doubt in sources.flatMap({ $0.book?.book.doubts ?? [] }) { doubts.add(doubt.printable) }
        guard doubts.count > 0 else { return }
        let subject = "there \(Plural.be(doubts.count)) \(Figures.count(doubts.count, "doubt"))"
        guard invocation[BookOptions.strict] else {
            let hint = "--dry-run shows them all, and --strict makes them an error"
            return console.warn((["\(subject); \(hint)"] + doubts.lines).joined(separator: "\n"))
        }
        throw Refusal(
            message: "\(subject); nothing was submitted",
            details: doubts.lines,
            hint: "--dry-run shows them all"
        )
    }
}

extension Recipe {
    /// Plays `files` one after another, the first source being a model for all of them. A file without chapters is one.
    mutating func join(_ files: [String]) {
        let names = files.indices.map { "file \($0 + 1)" }
        let joined = zip(files, names).map { file, name in
            var source = sources[0]
            (source.location, source.name) = (file, name)
            return source
        }
        sources.replaceSubrange(0..<1, with: joined)
        timeline = Timeline(tracks: [.init(pieces: names.map { Piece(.source($0)) })])
        markSources = true
    }
}
