import Conversion
import Glibc
import Ledger
import Storage

/// The jobs that a submission would make, and what stands in their way.
struct SubmitPlan: Sendable {
    /// A source and where it goes.
    struct Item: Sendable {
        let source: Location
        let destination: Location
    }

    /// What all recipes share.
    let base: Recipe
    /// What outputs are encoded by, by the ending of their names.
    private var codecs: [String: Codec] = [:]
    let items: [Item]
    /// How many there are of something, and the first few of it.
    struct Sample: Sendable {
        private(set) var count = 0
        private(set) var first: [String] = []

        mutating func add(_ text: @autoclosure () -> String) {
            count += 1
            if first.count < 5 { first.append(text()) }
        }

        /// The first few, and how many more there are.
        var lines: [String] {
            first + (count > first.count ? ["and \(Figures.grouped(count - first.count)) more"] : [])
        }
    }

    /// Destinations of several sources.
    private(set) var collisions = Sample()
    /// Destinations that are sources.
    private(set) var overwrites = Sample()
    /// Destinations where something is already.
    private(set) var conflicts = Sample()
    /// Names that cannot be used.
    private(set) var misfits = Sample()

    /// Names that cannot be used, of files that are left out.
    var leftOut = Sample()

    /// Whether anything forbids to submit it.
    var isForbidden: Bool {
        collisions.count > 0 || overwrites.count > 0 || misfits.count > 0
            || conflicts.count > 0 && base.outputs[0].onConflict == .fail
    }

    /// What is wrong with the format is a `UsageError`; what is wrong with names is found and kept.
    init(
        _ sources: [FoundSource],
        misfits: [String],
        template: DestinationTemplate,
        base: Recipe,
        ext: String?
    ) throws {
        self.base = base
        for misfit in misfits { self.misfits.add(misfit) }
        let preset = base.outputs[0].preset
        var items: [Item] = []
        items.reserveCapacity(sources.count)
        for source in sources {
            do throws(StorageError) {
                // Its fields are of the path that was named; the name of the root plays no part.
                let named = try Location("source:\(source.relative)")
                let place = try template.location(for: named, ext: ext ?? "", preset: preset, id: nil)
                items.append(Item(source: source.location, destination: place))
            } catch {
                if error.code == .invalidTemplate { throw UsageError("--to \(template.text): \(error.detail)") }
                self.misfits.add("\(source.location): \(error.detail)".printable)
            }
        }
        self.items = items
        try checkFormats()
        compare()
    }

    /// The recipe of one of them.
    func recipe(_ item: Item) -> Recipe {
        var recipe = base
        recipe.sources[0].location = item.source.description
        recipe.outputs[0].location = item.destination.description
        return recipe
    }

    /// The jobs as they are submitted, made when they are asked for.
    var requests: some Sequence<JobRequest> & Sendable {
        items.lazy.map { item in JobRequest(recipe(item), needs: needs(item)) }
    }

    private func needs(_ item: Item) -> [String] {
        let (source, destination) = (AbilityWord.root(item.source.root), AbilityWord.root(item.destination.root))
        let codec = codecs[Self.ending(item)].flatMap { $0 == .copy ? nil : AbilityWord.codec($0) }
        let roots = source == destination ? [source] : [source, destination].sorted()
        return (codec.map { [$0] } ?? []) + roots
    }

    /// `.mp3`; empty if there is none.
    private static func ending(_ item: Item) -> String {
        let name = item.destination.path
        let ending = name.lastIndex(of: ".").map { name[$0...] } ?? ""
        // One without a slash in it is the name's own.
        return ending.contains("/") ? "" : String(ending)
    }

    /// The same for the same jobs and wishes, so that a repetition is known by it.
    func key(_ wishes: [String]) throws -> String {
        var digest = RunningFingerprint()
        for wish in wishes { digest.add(wish) }
        digest.add(try base.json())
        for item in items {
            digest.add(item.source.description)
            digest.add(item.destination.description)
        }
        return "request:\(digest.finish().hexDigest)"
    }

    /// One extension is one format: each kind of destination is checked once.
    private mutating func checkFormats() throws {
        var checked: Set<String> = []
        for item in items {
            let ending = Self.ending(item)
            guard checked.insert(ending).inserted else { continue }
            let recipe = recipe(item)
            if item.source == item.destination { continue }
            do throws(RecipeError) {
                try recipe.validate()
                codecs[ending] = try recipe.outputs[0].codec
            } catch {
                throw UsageError(error, for: recipe.outputs[0])
            }
        }
    }

    // MARK: - What stands in the way

    private mutating func compare() {
        var makers: [Location: Int] = [:]
        makers.reserveCapacity(items.count)
        var colliding: [Location: [Location]] = [:]
        for (place, item) in items.enumerated() {
            guard let first = makers[item.destination] else {
                makers[item.destination] = place
                continue
            }
            colliding[item.destination, default: [items[first].source]].append(item.source)
        }
        let order = colliding.sorted { makers[$0.key]! < makers[$1.key]! }
        for (destination, sources) in order {
            let names = sources.prefix(3).map { "\($0)" }.joined(separator: ", ") + (sources.count > 3 ? ", ..." : "")
            collisions.add("\(Figures.count(sources.count, "source")) would become \(destination): \(names)".printable)
        }
        for item in items where makers[item.source] != nil {
            overwrites.add("\(item.source) is a source, and would be a destination".printable)
        }
    }

    /// Looks for destinations that are there already, as far as their roots are on this machine.
    mutating func lookForConflicts(_ roots: PathRoots) {
        var folders: [String: [Item]] = [:]
        var order: [String] = []
        for item in items {
            let folder = "\(item.destination.root):\(item.destination.folder)"
            if folders[folder] == nil { order.append(folder) }
            folders[folder, default: []].append(item)
        }
        for folder in order {
            guard let members = folders[folder], let path = roots.path(of: members[0].destination) else { continue }
            let place = String(path.dropLast(members[0].destination.name.count + 1))
            let found = Self.names(in: place, among: members.map(\.destination.name))
            for item in members where found.contains(item.destination.name) {
                conflicts.add("\(item.destination)".printable)
            }
        }
    }

    /// Those of `names` that are in a folder. Few are looked at one by one, many by reading the folder.
    private static func names(in folder: String, among names: [String]) -> Set<String> {
        if names.count < 16 {
            return Set(names.filter { FileFacts.of(path: "\(folder)/\($0)", followingLinks: false) != nil })
        }
        // A folder that is not there, or may not be read, is for the worker to meet.
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var found: Set<String> = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            found.insert(name)
        }
        return found
    }

    /// Bytes of all sources that are on this machine.
    func bytes(_ roots: PathRoots) -> Int64 {
        items.reduce(0) { sum, item in
            guard let path = roots.path(of: item.source) else { return sum }
            return sum + (FileFacts.of(path: path, followingLinks: true)?.byteCount ?? 0)
        }
    }
}
