import Console
import Conversion
import Ledger
import Storage

/// The jobs that a submission would create, and what prevents it.
struct SubmitPlan: Sendable {
    /// A source and the destinations of its outputs.
    struct Item: Sendable {
        let source: Location
        let destinations: [Location]
        /// The piece of the source at each destination; empty if each output holds all of the source.
        var pieces: [SplitPoints.Piece] = []

        /// The first output's.
        var destination: Location { destinations[0] }
    }

    /// The common part of all recipes.
    let base: Recipe
    /// How many of its sources, from the first on, are the file of the job. The others are the same in all jobs.
    private let mainCount: Int
    let conflict: SubmitConflict
    /// The version of libavcodec that the workers must have; `nil` if any will do.
    private let libav: Int?
    /// The codecs of a job's outputs, by the extensions of their names.
    private var codecs: [String: [Codec]] = [:]
    let items: [Item]
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

    /// Whether its names prevent the submission.
    var isForbidden: Bool { collisions.count > 0 || overwrites.count > 0 || misfits.count > 0 }

    /// `cuts` are the pieces of each source, if sources are cut. Throws a `UsageError` for an invalid format. Invalid
    /// names are collected instead.
    init(
        _ sources: [FoundSource],
        cuts: [[SplitPoints.Piece]]? = nil,
        misfits: [String],
        outputs: [OutputTemplate],
        base: Recipe,
        mainCount: Int = 1,
        conflict: SubmitConflict,
        libav: Int? = nil
    ) throws {
        (self.base, self.mainCount, self.conflict, self.libav) = (base, mainCount, conflict, libav)
        commonSources = try base.sources.dropFirst(mainCount).map { try Location($0.location) }
        for misfit in misfits { self.misfits.add(misfit) }
        var items: [Item] = []
        items.reserveCapacity(sources.count)
        for (number, source) in sources.enumerated() {
            var output = outputs[0]
            let pieces = cuts?[number] ?? []
            do throws(StorageError) {
                // The template's fields come from the path as the user named it; the root's name plays no part.
                let named = try Location("source:\(source.relative)")
                var places: [Location] = []
                for next in outputs {
                    output = next
                    if pieces.isEmpty { places.append(try output.location(for: named)) }
                    for index in pieces.indices {
                        places.append(try output.location(for: named, piece: pieces.field(index)))
                    }
                }
                items.append(Item(source: source.location, destinations: places, pieces: pieces))
            } catch {
                if error.code == .invalidTemplate {
                    throw UsageError("\(output.option) \(output.template.text): \(error.detail)")
                }
                self.misfits.add("\(source.location): \(error.detail)".printable)
            }
        }
        self.items = items
        try checkFormats()
        compare()
    }

    /// The recipe for one item.
    func recipe(_ item: Item) -> Recipe {
        var recipe = base
        recipe.fill(mainCount, with: item.source.description)
        if !item.pieces.isEmpty {
            recipe.outputs = item.pieces.enumerated().map { index, piece in
                var output = base.outputs[0]
                output.range = piece.range
                output.tags = piece.tags(index + 1, of: item.pieces.count, besides: base.tags)
                return output
            }
        }
        for (index, place) in item.destinations.enumerated() { recipe.outputs[index].location = place.description }
        return recipe
    }

    /// The jobs to submit, created lazily.
    func requests(_ chosen: [SubmitSurvey.Chosen]) -> some Sequence<JobRequest> & Sendable {
        chosen.lazy.map { choice in
            let item = items[choice.place]
            var recipe = recipe(item)
            for index in recipe.outputs.indices { recipe.outputs[index].onConflict = choice.policy(of: index) }
            return JobRequest(recipe, needs: needs(item), stamp: choice.stamp)
        }
    }

    private func needs(_ item: Item) -> [String] {
        let roots = Set([item.source.root] + (item.destinations + commonSources).map(\.root))
        let codecs = Set((codecs[Self.endings(item)] ?? []).filter { $0 != .copy })
        return codecs.map { AbilityWord.codec($0) }.sorted() + roots.map { AbilityWord.root($0) }.sorted()
            + [libav].compactMap(\.self).map(AbilityWord.libav)
    }

    /// `.mp3`, or `.flac .mp3` for two outputs; nothing for a name without an extension.
    private static func endings(_ item: Item) -> String {
        item.destinations.map { place in
            let name = place.path
            let ending = name.lastIndex(of: ".").map { name[$0...] } ?? ""
            // A dot before the last slash belongs to a folder.
            return ending.contains("/") ? "" : String(ending)
        }.joined(separator: " ")
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
    func key(_ chosen: [SubmitSurvey.Chosen], _ wishes: [String]) throws -> String {
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
        digest.add(try base.json())
        return digest
    }

    /// Validates one recipe per extension, because an extension determines the format.
    private mutating func checkFormats() throws {
        var checked: Set<String> = []
        for item in items {
            let endings = Self.endings(item)
            let isNew = checked.insert(endings).inserted
            // The names of pieces depend on their titles, and so on the source.
            guard isNew || !item.pieces.isEmpty else { continue }
            var own: Set<Location> = []
            if let twice = item.destinations.first(where: { !own.insert($0).inserted }) {
                let hint =
                    item.pieces.isEmpty
                    ? "--to and --also must differ" : "put {n}, the number of the piece, into --to"
                throw UsageError("two outputs of a job would be \(twice)".printable, hint: hint)
            }
            guard isNew else { continue }
            let recipe = recipe(item)
            // `compare()` reports outputs that are sources.
            if item.destinations.contains(where: { $0 == item.source || commonSources.contains($0) }) { continue }
            do throws(RecipeError) {
                try recipe.validate()
                var found: [Codec] = []
                for output in recipe.outputs { found.append(try output.codec) }
                codecs[endings] = found
            } catch {
                throw UsageError(ofEdit: error) ?? UsageError(error, in: recipe)
            }
        }
    }

    // MARK: - Conflicts

    private mutating func compare() {
        var makers: [Location: Int] = [:]
        makers.reserveCapacity(items.count)
        var colliding: [Location: [Location]] = [:]
        for (place, item) in items.enumerated() {
            for destination in item.destinations {
                guard let first = makers[destination] else {
                    makers[destination] = place
                    continue
                }
                colliding[destination, default: [items[first].source]].append(item.source)
            }
        }
        let order = colliding.sorted { makers[$0.key]! < makers[$1.key]! }
        for (destination, sources) in order {
            let names = sources.prefix(3).map { "\($0)" }.joined(separator: ", ") + (sources.count > 3 ? ", ..." : "")
            collisions.add("\(Figures.count(sources.count, "source")) would become \(destination): \(names)".printable)
        }
        for source in items.map(\.source) + commonSources where makers[source] != nil {
            overwrites.add("\(source) is a source and would be overwritten".printable)
        }
    }

    /// How many pieces all jobs make; `nil` if sources are not cut.
    var pieceCount: Int? {
        items.contains { !$0.pieces.isEmpty } ? items.reduce(0) { $0 + $1.pieces.count } : nil
    }

    /// The total size of the sources that are on this machine.
    func bytes(_ roots: PathRoots) -> Int64 {
        items.reduce(0) { sum, item in
            guard let path = roots.path(of: item.source) else { return sum }
            return sum + (FileFacts.of(path: path, followingLinks: true)?.byteCount ?? 0)
        }
    }
}

extension RunningFingerprint {
    fileprivate mutating func add(_ item: SubmitPlan.Item) {
        add(item.source.description)
        for place in item.destinations { add(place.description) }
        for piece in item.pieces { add("\(piece.range) \(piece.title ?? "")") }
    }
}

extension [SplitPoints.Piece] {
    /// What the piece at `index` gives to the name of its output.
    fileprivate func field(_ index: Int) -> DestinationTemplate.Piece {
        .init(
            number: PieceNames.number(index + 1, of: count),
            title: self[index].title.flatMap(PieceNames.nameable)
        )
    }
}
