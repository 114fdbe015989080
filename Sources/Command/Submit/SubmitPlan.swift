import Console
import Conversion
import Ledger
import Storage

/// The jobs that a submission would create, and what prevents it.
struct SubmitPlan: Sendable {
    /// The common part of all recipes.
    let base: Recipe
    /// How many of its sources, from the first on, are the file of the job. The others are the same in all jobs.
    private let mainCount: Int
    let conflict: SubmitConflict
    let onAltered: SubmitAltered?
    /// The version of libavcodec that the workers must have; `nil` if any will do.
    private let libav: Int?
    /// What jobs of each kind need.
    private var needsOfKinds: [[String]] = []
    private(set) var items: Items
    /// Items that would all have the same destinations, and were given numbers.
    private var numbered: [[Int]] = []
    /// The sources that all jobs have in common.
    private let commonSources: [Location]
    /// A count, and the first few examples.
    struct Sample: Sendable {
        private(set) var count = 0
        private(set) var first: [String] = []

        mutating func add(_ text: @autoclosure () -> String) {
            count += 1
            if first.count < 5 { first.append(text()) }
        }

        /// The examples, and how many more there are.
        var lines: [String] {
            first + (count > first.count ? ["and \(Figures.grouped(count - first.count)) more"] : [])
        }
    }

    /// Destinations of several sources.
    private(set) var collisions = Sample()
    /// Destinations that are also sources.
    private(set) var overwrites = Sample()
    /// Names that cannot be used.
    private(set) var misfits = Sample()

    /// Names that cannot be used, of files that are left out.
    var leftOut = Sample()

    /// Other files that are copied beside the outputs.
    var companions: CompanionFiles?

    /// Whether its names prevent the submission.
    var isForbidden: Bool { collisions.count > 0 || overwrites.count > 0 || misfits.count > 0 }

    /// `cuts` are the pieces of each source, if sources are cut. Throws a `UsageError` for an invalid format. Invalid
    /// names are collected instead.
    init(
        _ sources: FoundSources,
        cuts: [[SplitPoints.Piece]]? = nil,
        misfits: [String],
        outputs: [OutputTemplate],
        base: Recipe,
        mainCount: Int = 1,
        tags: [TagWish] = [],
        names: DestinationNames,
        onCollision: SubmitCollision = .fail,
        conflict: SubmitConflict,
        onAltered: SubmitAltered? = nil,
        libav: Int? = nil,
        progress: SubmitProgress? = nil
    ) throws {
        (self.base, self.mainCount, self.libav) = (base, mainCount, libav)
        (self.conflict, self.onAltered) = (conflict, onAltered)
        commonSources = try base.sources.dropFirst(mainCount).map { try Location($0.location) }
        for misfit in misfits { self.misfits.add(misfit) }
        let varying = Set(tags.filter(\.hasFields).map { TagTable.commonName(ofKey: $0.name) })
        let tags = tags.filter { varying.contains(TagTable.commonName(ofKey: $0.name)) }
        var items = Items(of: sources, cuts: cuts, tags: tags, outputCount: outputs.count)
        var places: [Location] = []
        for (number, source) in sources.enumerated() {
            progress?.plan(number, of: sources.count)
            var output = outputs[0]
            let pieces = cuts?[number] ?? []
            do throws(StorageError) {
                // The template's fields come from the path as the user named it; the root's name plays no part.
                let named = try Location(root: "source", path: source.relative)
                places.removeAll(keepingCapacity: true)
                for next in outputs {
                    output = next
                    if pieces.isEmpty { places.append(try output.location(for: named)) }
                    for index in pieces.indices {
                        places.append(try output.location(for: named, piece: pieces.field(index)))
                    }
                }
                items.append(source: number, places)
            } catch {
                if error.code == .invalidTemplate {
                    throw UsageError("\(output.option) \(output.template.text): \(error.detail)")
                }
                self.misfits.add("\(source.location): \(error.detail)".printable)
                items.skipSource()
            }
        }
        self.items = items
        var names = names
        if onCollision == .number { number(&names) }
        try checkFormats()
        compare(&names)
    }

    /// The recipe for one item. `sources` are where its sources are, if not where the item says.
    func recipe(_ item: Item, from sources: [Location]? = nil) -> Recipe {
        var recipe = base
        recipe.fill(mainCount, with: (sources?.first ?? item.source).description)
        var pictures: ArraySlice<Location> = []
        if let book = item.book {
            let places = sources ?? item.sources
            recipe.join(places.prefix(book.others.count + 1).map(\.description))
            recipe.chapters = book.book.chapters
            recipe.copyPackets = book.copiesPackets
            pictures = places.dropFirst(book.others.count + 1)
        }
        for (name, values) in item.tags { recipe.tags.set(name, to: values) }
        if !item.pieces.isEmpty, !item.pieces.areUncut {
            recipe.outputs = item.pieces.enumerated().map { index, piece in
                var output = base.outputs[0]
                output.range = piece.range
                output.tags = piece.tags(
                    item.pieces.number(index),
                    of: item.pieces.lastNumber,
                    besides: recipe.tags
                )
                return output
            }
        }
        for (index, place) in item.destinations.enumerated() { recipe.outputs[index].location = place.description }
        if !pictures.isEmpty, recipe.holdsCover {
            recipe.sources += pictures.map { .init(location: $0.description, use: .cover) }
        }
        return recipe
    }

    /// The jobs to submit, created lazily.
    func requests(_ chosen: ChosenJobs) -> RequestSequence<ChosenJobs> {
        RequestSequence(choices: chosen) { choice in
            let item = items[choice.place]
            var recipe = recipe(item)
            for index in recipe.outputs.indices { recipe.outputs[index].onConflict = choice.policy(of: index) }
            return JobRequest(recipe, needs: needsOfKinds[item.kind], stamp: choice.stamp)
        }
    }

    /// The sources of the jobs to submit, each once.
    func sources(_ chosen: some Sequence<SubmitSurvey.Chosen>) -> [Location] {
        var known: Set<Location> = []
        return (commonSources + chosen.flatMap { items[$0.place].sources }).filter { known.insert($0).inserted }
    }

    /// The different needs of the jobs to submit.
    func needs(_ chosen: ChosenJobs) -> [[String]] {
        var (all, known): ([[String]], Set<[String]>) = ([], [])
        var kinds: Set<Int> = []
        for choice in chosen {
            let kind = items[choice.place].kind
            guard kinds.insert(kind).inserted, known.insert(needsOfKinds[kind]).inserted else { continue }
            all.append(needsOfKinds[kind])
        }
        return all
    }

    /// What decides about a job's formats and needs. A million jobs are of a few kinds.
    private struct Kind: Hashable {
        /// `.mp3`, or `.flac .mp3` for two outputs; nothing for a name without an extension.
        let endings: String
        /// Of the source and the destinations.
        let roots: [String]

        init(_ item: Item) {
            endings = item.destinations.map { Self.ending(of: $0.path) }.joined(separator: " ")
            let own = item.book == nil ? [item.source.root] : Set(item.sources.map(\.root)).sorted()
            roots = own + item.destinations.map(\.root)
        }

        private static func ending(of path: String) -> Substring {
            let (dot, slash) = (UInt8(ascii: "."), UInt8(ascii: "/"))
            // A dot before the last slash belongs to a folder.
            guard let mark = path.utf8.lastIndex(where: { $0 == dot || $0 == slash }), path.utf8[mark] == dot else {
                return ""
            }
            return path[mark...]
        }
    }

    private func needs(of kind: Kind, _ codecs: [Codec]) -> [String] {
        let roots = Set(kind.roots + commonSources.map(\.root))
        let wanted = Set(codecs.filter { $0 != .copy })
        return wanted.map { AbilityWord.codec($0) }.sorted() + roots.map { AbilityWord.root($0) }.sorted()
            + [libav].compactMap(\.self).map(AbilityWord.libav)
    }

    /// Identifies the request: equal for the same sources, destinations and wishes, so that a repetition is
    /// recognized.
    func digest(_ wishes: [String]) throws -> String {
        var digest = try begunDigest(wishes)
        for item in items { digest.add(item) }
        return digest.finish().hexDigest
    }

    /// Identifies the jobs to submit: equal for the same jobs and wishes as long as no more work is done. So
    /// the same work, submitted twice at the same time, is added once.
    func key(_ chosen: ChosenJobs, _ wishes: [String]) throws -> String {
        var digest = try begunDigest(wishes)
        for choice in chosen {
            digest.add(items[choice.place])
            if choice.predecessor != 0 {
                digest.add("\(choice.predecessor) \(choice.policies.map(\.rawValue).joined(separator: ","))")
            }
        }
        return "request:\(digest.finish().hexDigest)"
    }

    private func begunDigest(_ wishes: [String]) throws -> RunningFingerprint {
        var digest = RunningFingerprint()
        for wish in wishes { digest.add(wish) }
        digest.add(conflict.rawValue)
        if let onAltered { digest.add(onAltered.rawValue) }
        digest.add(try base.json())
        return digest
    }

    /// Validates one recipe per extension, because an extension determines the format.
    private mutating func checkFormats() throws {
        var checked: Set<String> = []
        // The codecs of the outputs, by the extensions of their names.
        var codecs: [String: [Codec]] = [:]
        var kinds: [Kind] = []
        var numbers: [Kind: Int] = [:]
        var last = (number: 0, kind: Kind?.none)
        for place in items.indices {
            let item = items[place]
            let kind = Kind(item)
            // Most items are of the same kind as the one before them.
            let number = kind == last.kind ? last.number : numbers[kind] ?? kinds.count
            last = (number, kind)
            if number == kinds.count {
                numbers[kind] = number
                kinds.append(kind)
            }
            items.setKind(number, of: place)
            let endings = kind.endings
            let isNew = checked.insert(endings).inserted
            // The names of pieces depend on their titles, and so on the source.
            guard isNew || !item.pieces.isEmpty else { continue }
            var own: Set<Location> = []
            if let twice = item.destinations.first(where: { !own.insert($0).inserted }) {
                let hint =
                    item.pieces.isEmpty
                    ? "--to, --also, --waveform and --spectrogram must differ"
                    : "put {n}, the number of the piece, into --to"
                throw UsageError("two outputs of a job would be \(twice)".printable, hint: hint)
            }
            guard isNew else { continue }
            let recipe = recipe(item)
            // `compare()` reports outputs that are sources.
            let read = item.sources + commonSources
            if item.destinations.contains(where: read.contains) { continue }
            do throws(RecipeError) {
                try recipe.validate()
                var found: [Codec] = []
                for output in recipe.soundOutputs { found.append(try output.codec) }
                codecs[endings] = found
            } catch {
                throw UsageError(ofEdit: error) ?? UsageError(error, in: recipe)
            }
        }
        needsOfKinds = kinds.map { needs(of: $0, codecs[$0.endings] ?? []) }
    }

    // MARK: - Conflicts

    /// Adds a number to destinations that an earlier item has. No number makes a name that another item has without one.
    private mutating func number(_ names: inout DestinationNames) {
        let planned = items
        // Find the first output that has a name, by the number of the output, and the first item whose first output has it.
        var (makers, heads) = (EntryTable(), EntryTable())
        func maker(_ key: DestinationNames.Key) -> Int? {
            makers.entry(hash: key.hashValue) { names.key(planned.destination($0)) == key }
        }
        func head(_ key: DestinationNames.Key) -> Int? {
            heads.entry(hash: key.hashValue) { place in
                names.key(planned.destination(planned.outputs(of: place).lowerBound)) == key
            }
        }
        var repeated: [Int] = []
        // The items whose first outputs have one name, by the first of them.
        var groups: [Int: [Int]] = [:]
        for place in planned.indices {
            let outputs = planned.outputs(of: place)
            var isTaken = false
            for number in outputs {
                let key = names.key(planned.destination(number))
                if let maker = maker(key) {
                    isTaken = isTaken || maker < outputs.lowerBound
                } else {
                    makers.insert(number, hash: key.hashValue)
                }
                guard number == outputs.lowerBound else { continue }
                if let head = head(key) {
                    groups[head, default: [head]].append(place)
                } else {
                    heads.insert(place, hash: key.hashValue)
                }
            }
            if isTaken { repeated.append(place) }
        }
        numbered = groups.values.filter { group in
            group.count <= Self.largestGroup
                && group.allSatisfy { planned[$0].destinations == planned[group[0]].destinations }
        }
        // The names with numbers, in the order of the items' changes.
        var changes = EntryTable()
        // The next number of a first destination, so that many equal names take no longer than few.
        var next: [Int: Int] = [:]
        for place in repeated {
            let item = planned[place]
            let head = head(names.key(item.destination)) ?? place
            var number = next[head] ?? 2
            while true {
                var numbered: [Location] = []
                do throws(StorageError) {
                    for destination in item.destinations { numbered.append(try destination.numbered(number)) }
                } catch {
                    misfits.add("\(item.source): \(error.detail)".printable)
                    break
                }
                let keys = numbered.map { names.key($0) }
                number += 1
                let isTaken = keys.contains { key in
                    let change = changes.entry(hash: key.hashValue) { names.key(items.change($0)) == key }
                    return change != nil || maker(key) != nil
                }
                guard !isTaken else { continue }
                for (offset, key) in keys.enumerated() {
                    changes.insert(items.changeCount + offset, hash: key.hashValue)
                }
                items.setDestinations(numbered, of: place)
                break
            }
            next[head] = number
        }
    }

    /// Numbers that are kept need a comparison of each source with each name. Larger groups are numbered in their order.
    private static let largestGroup = 100

    /// Lets sources keep the names under which their outputs exist. A source that was added later may come before the others,
    /// and would take the name of their output. `earlier` finds the latest job of each destination.
    mutating func keepNumbers(_ earlier: ([String]) throws -> EarlierJobList) throws {
        guard !numbered.isEmpty else { return }
        let found = try earlier(numbered.joined().map { items[$0].destination.description })
        var jobs = found[...]
        var numbers = WorkNumbers()
        for group in numbered {
            let places = group.map { items[$0].destinations }
            // The member of the group that has each of the places.
            var members = [Int?](repeating: nil, count: group.count)
            for place in places.indices {
                guard let work = (jobs.popFirst() ?? nil)?.work else { continue }
                members[place] = try group.first { candidate in
                    guard !members.contains(candidate) else { return false }
                    var item = items[candidate]
                    item.destinations = places[place]
                    return try numbers.number(of: recipe(item)) == work
                }
            }
            var others = group.filter { !members.contains($0) }[...]
            for place in places.indices {
                guard let member = members[place] ?? others.popFirst() else { continue }
                items.setDestinations(places[place], of: member)
            }
        }
    }

    private mutating func compare(_ names: inout DestinationNames) {
        // Finds the first output that has a name, by the number of the output.
        var makers = EntryTable()
        var colliding: [Int: (destinations: Set<Location>, sources: [Location])] = [:]
        for number in 0..<items.destinationCount {
            let destination = items.destination(number)
            let key = names.key(destination)
            let hash = key.hashValue
            let first = makers.entry(hash: hash) { names.key(items.destination($0)) == key }
            guard let first else {
                makers.insert(number, hash: hash)
                continue
            }
            let maker = items.source(items.spot(first).place)
            let source = items.source(items.spot(number).place)
            colliding[first, default: ([items.destination(first)], [maker])].sources.append(source)
            colliding[first]?.destinations.insert(destination)
        }
        for (first, collision) in colliding.sorted(by: { $0.key < $1.key }) {
            let sources = collision.sources
            let shown = sources.prefix(3).map { "\($0)" }.joined(separator: ", ") + (sources.count > 3 ? ", ..." : "")
            let why = collision.destinations.count > 1 ? ", or a name that differs in case or Unicode form only" : ""
            collisions.add(
                "\(Figures.count(sources.count, "source")) would become \(items.destination(first))\(why): \(shown)"
                    .printable
            )
        }
        func isDestination(_ source: Location) -> Bool {
            let key = names.key(source)
            return makers.entry(hash: key.hashValue) { names.key(items.destination($0)) == key } != nil
        }
        for source in items.lazy.flatMap(\.sources) where isDestination(source) { addOverwrite(of: source) }
        for source in commonSources where isDestination(source) { addOverwrite(of: source) }
    }

    private mutating func addOverwrite(of source: Location) {
        overwrites.add("\(source) is a source and would be overwritten".printable)
    }

    /// How many pieces all jobs make; `nil` if sources are not cut.
    var pieceCount: Int? {
        items.contains { !$0.pieces.isEmpty }
            ? items.reduce(0) { $0 + ($1.pieces.areUncut ? 0 : $1.pieces.count) } : nil
    }

    /// How many sources stay whole beside others that are cut.
    var uncutCount: Int { items.count { $0.pieces.areUncut } }

    /// Whether the order of files that are joined is in doubt.
    var hasDoubts: Bool { items.contains { $0.book?.book.doubts.isEmpty == false } }

    /// The total size of the sources that are on this machine or in buckets.
    func bytes(_ roots: PathRoots) -> Int64 {
        func size(_ source: Location) -> Int64? {
            roots.path(of: source).flatMap { FileFacts.of(path: $0, followingLinks: true)?.byteCount }
        }
        return items.reduce(0) { sum, item in
            let sizes = item.stamp.map { [$0.bytes] } ?? item.files.compactMap(size)
            return sizes.reduce(sum) { sum, size in
                // A file server may tell any sizes.
                let (both, isTooMuch) = sum.addingReportingOverflow(size)
                return isTooMuch ? .max : both
            }
        }
    }
}

extension RunningFingerprint {
    fileprivate mutating func add(_ item: SubmitPlan.Item) {
        for source in item.sources { add(source.description) }
        for chapter in item.book?.book.chapters ?? [] {
            add("\(chapter.at.rationalDescription) \(chapter.title ?? "")")
        }
        for place in item.destinations { add(place.description) }
        for piece in item.pieces {
            add("\(piece.range) \(piece.title ?? "")")
            for (name, value) in piece.tags.sorted(by: { $0.key < $1.key }) { add("\(name)=\(value)") }
        }
        for (name, values) in item.tags.sorted(by: { $0.key < $1.key }) {
            add("\(name)=\(values.all.joined(separator: "\0"))")
        }
    }
}

extension [SplitPoints.Piece] {
    /// What the piece at `index` gives to the name of its output.
    fileprivate func field(_ index: Int) -> DestinationTemplate.Piece {
        .init(
            number: PieceNames.number(number(index), of: lastNumber),
            title: self[index].title.flatMap(PieceNames.nameable)
        )
    }
}
