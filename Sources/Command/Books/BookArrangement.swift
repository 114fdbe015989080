import Conversion
import Storage

/// The order of a book's files, and what is odd about it. Follows from the names and tags alone.
struct BookArrangement {
    /// The indices of the files, in the order in which they are heard.
    let places: [Int]
    let doubts: [String]

    /// `folder` is the book's, for messages. Without `order`, tags decide if each file has a track number, and names
    /// otherwise. `list` has the lines of a list.
    init(_ files: [Book.File], in folder: String, order: BookOrder?, list: [String]?) {
        let problems = files.compactMap { file in file.problem.map { "\(folder)/\(file.name): \($0)" } }
        let names = files.map(\.name)
        let byName = files.indices.sorted { NaturalOrder.precedes(names[$0], names[$1]) }
        if let list {
            let found = Self.listed(list, among: names, in: folder)
            (places, doubts) = (found.places, problems + found.doubts)
            return
        }
        let untracked = files.indices.filter { files[$0].track == nil }
        // Discs without tracks are heard one after another; within each, the names decide.
        let discs = files.compactMap { $0.facts?.disc }
        let areDiscs = untracked.count == files.count && discs.count == files.count && Set(discs).count > 1
        guard order == .tags || order == nil && (untracked.isEmpty || areDiscs) && !files.isEmpty else {
            var doubts = problems + NameNumbers.doubts(names, in: folder)
            // Files that no room has looked at have no numbers.
            if order == nil, untracked.count < files.count {
                let some = Figures.count(untracked.count, "file")
                doubts.append("\(folder): \(some) without a track number, so names decide the order")
            }
            (places, self.doubts) = (byName, doubts)
            return
        }
        let numbers = TrackNumbers(files, in: folder)
        let places = byName.sorted(by: numbers.precedes)
        var doubts = problems + numbers.doubts(places)
        if numbers.foldersDecide { doubts += NameNumbers.folderDoubts(names, in: folder) }
        if NameNumbers.areComplete(names), let index = places.indices.first(where: { places[$0] != byName[$0] }) {
            let (tagged, named) = (names[places[index]], names[byName[index]])
            doubts.append("\(folder): file \(index + 1) is \(tagged) by its tags, and \(named) by its name")
        }
        (self.places, self.doubts) = (places, doubts)
    }

    // MARK: - Lists

    private static func listed(
        _ list: [String],
        among names: [String],
        in folder: String
    ) -> (places: [Int], doubts: [String]) {
        var (places, doubts): ([Int], [String]) = ([], [])
        let known = KnownPaths(names)
        var taken: Set<Int> = []
        var (absent, foreign, repeated): ([String], [String], [String]) = ([], [], [])
        // Of `.` and `..`, the name is not known.
        let name = folder.lastPathName.flatMap { $0 == "." || $0 == ".." ? nil : $0 }
        for entry in list {
            // Programs of Windows write backslashes, and people spaces behind the name.
            let plain = String(entry.reversed().drop { $0.isWhitespace }.reversed())
            let words = [entry, plain, plain.split(separator: "\\").joined(separator: "/")]
            let found = words.lazy.compactMap { known.place(of: $0.pathNames.filter { $0 != "." }) }.first
            guard let found else {
                absent.append(String(entry.prefix(mostShown)))
                continue
            }
            guard taken.insert(found).inserted else {
                repeated.append(names[found])
                continue
            }
            places.append(found)
            let around = words[2].pathNames.filter { $0 != "." }.dropLast(known.depth(of: found)).last
            if let name, let around, around != name { foreign.append(String(entry.prefix(mostShown))) }
        }
        if absent.count > 3 {
            doubts.append("\(folder): the list names \(absent.count) files that are not there, such as \(absent[0])")
        } else {
            doubts += absent.map { "\(folder): the list names \($0), which is not there" }
        }
        let twice = Set(repeated).sorted(by: NaturalOrder.precedes)
        doubts += twice.map { "\(folder): the list names \($0) more than once" }
        if let first = foreign.first {
            doubts.append("\(folder): the list names files of other folders, such as \(first)")
        }
        let rest = names.indices.filter { !taken.contains($0) }
        if rest.count > 3 {
            doubts.append("\(folder): \(rest.count) files are not in the list, and are left out")
        } else {
            doubts += rest.map { "\(folder): \(names[$0]) is not in the list, and is left out" }
        }
        return (places, doubts)
    }

    /// Letters of a line that a doubt shows.
    private static let mostShown = 200
}

/// The files of a folder, as lists name them. A look-up does not depend on the number of files.
private struct KnownPaths {
    /// Each path below the folder, and each end of it. The index is that of the only file with this end.
    private var whole: [[String]: Int] = [:]
    private var ends: [[String]: Int?] = [:]
    private var depths: [Int] = []
    private let deepest: Int

    init(_ names: [String]) {
        deepest = names.map { $0.pathNames.count }.max() ?? 0
        for (index, name) in names.enumerated() {
            let path = name.pathNames
            depths.append(path.count)
            whole[path] = whole[path] ?? index
            for count in 1..<max(1, path.count) {
                let end = Array(path.suffix(count))
                ends.updateValue(ends.keys.contains(end) ? nil : index, forKey: end)
            }
        }
    }

    /// How many names the path of a file has.
    func depth(of index: Int) -> Int { depths[index] }

    /// The file that a list names: by its path below the folder, by a longer path, or by the end of its path if no other
    /// has the same.
    func place(of entry: [String]) -> Int? {
        guard !entry.isEmpty else { return nil }
        for count in stride(from: min(entry.count, deepest), to: 0, by: -1) {
            if let found = whole[Array(entry.suffix(count))] { return found }
        }
        return ends[entry] ?? nil
    }
}

/// The numbers of discs and tracks in the tags of files.
struct TrackNumbers {
    private struct Key: Hashable {
        let folder: String
        let disc: Int?
    }

    private let files: [Book.File]
    private let folder: String
    /// The disc of each file; of one that has none, the most likely one. `nil` if no file has a disc.
    private let discs: [Int?]
    /// Whether a disc and a track belong to one file only. Otherwise the folders keep their files together.
    private let areUnique: Bool
    /// The disc of each folder, if each holds one disc that no other holds; empty otherwise.
    private let discsOfFolders: [String: Int]

    init(_ files: [Book.File], in folder: String) {
        (self.files, self.folder) = (files, folder)
        let discs = Self.discs(of: files)
        self.discs = discs
        let numbers = zip(discs, files).map { [$0, $1.track] }
        areUnique = Set(numbers).count == files.count
        let folders = Dictionary(grouping: files.indices) { files[$0].name.parentName }
        let held = folders.mapValues { Set($0.map { discs[$0] }) }
        let known = held.compactMapValues { $0.count == 1 ? $0.first.flatMap(\.self) : nil }
        let areDistinct = known.count == folders.count && Set(known.values).count == known.count
        discsOfFolders = areDistinct ? known : [:]
    }

    /// A file without a disc belongs to that of its folder if it fits in there by its track, and to the first one otherwise.
    private static func discs(of files: [Book.File]) -> [Int?] {
        var discs = files.map { $0.facts?.disc }
        guard discs.contains(where: { $0 != nil }) else { return discs }
        for members in Dictionary(grouping: files.indices, by: { files[$0].name.parentName }).values {
            let known = Set(members.compactMap { discs[$0] })
            let tracks = members.compactMap { files[$0].track }
            let fits = known.count == 1 && Set(tracks).count == tracks.count
            for index in members where discs[index] == nil { discs[index] = fits ? known.first : 1 }
        }
        return discs
    }

    /// Whether the names of folders decide before the numbers do.
    var foldersDecide: Bool { !areUnique && discsOfFolders.isEmpty }

    /// Files without a number come last in their folder.
    func precedes(_ one: Int, _ other: Int) -> Bool {
        let (first, second) = (files[one], files[other])
        let (folder, otherFolder) = (first.name.parentName, second.name.parentName)
        if foldersDecide, folder != otherFolder {
            return NaturalOrder.precedes(folder, otherFolder)
        }
        let (disc, otherDisc) = (discs[one] ?? 0, discs[other] ?? 0)
        if disc != otherDisc { return disc < otherDisc }
        let (track, otherTrack) = (first.track ?? .max, second.track ?? .max)
        if track != otherTrack { return track < otherTrack }
        return NaturalOrder.precedes(first.name, second.name)
    }

    /// What is odd about the numbers of files in this order.
    func doubts(_ places: [Int]) -> [String] {
        var doubts: [String] = []
        let all = places.compactMap { files[$0].track }
        // Numbers may go on from disc to disc.
        let goesOn = Set(all).count == all.count
        var (groups, order): ([Key: [Int]], [Key]) = ([:], [])
        for place in places {
            let file = files[place]
            let key =
                goesOn
                ? Key(folder: "", disc: nil)
                : Key(folder: foldersDecide ? file.name.parentName : "", disc: self.discs[place])
            if groups[key] == nil { order.append(key) }
            groups[key, default: []].append(place)
        }
        let discs = Set(self.discs.compactMap(\.self))
        let discless = files.filter { $0.facts?.disc == nil && $0.problem == nil }.map(\.name)
        // If all others are of the first disc, it changes nothing.
        if !discless.isEmpty, !discs.isSubset(of: [1]) {
            doubts.append("\(folder): \(Self.list(discless)) \(Plural.have(discless.count)) no disc number")
        }
        // Who joins one disc knows that others exist.
        let isOneOfSeveral = discs.count == 1 && BookFolders.isDisc(folder.lastPathName ?? folder)
        if !isOneOfSeveral, discs.count > 1 || files.contains(where: { ($0.facts?.discs ?? 1) > 1 }) {
            let last = files.compactMap { $0.facts?.discs }.max() ?? 0
            doubts += Self.gaps(discs, upTo: last).map { "\(folder): \(Self.missing($0, "disc"))" }
        }
        let starts = Self.starts(of: order.map { key in (groups[key] ?? []).map { files[$0] } })
        for (key, start) in zip(order, starts) {
            var label = key.folder.isEmpty ? folder : "\(folder)/\(key.folder)"
            if let disc = key.disc, discs.count > 1 { label += ", disc \(disc)" }
            let members = groups[key] ?? []
            // Of numbers that go on, the total may be that of one disc.
            let isPart = goesOn && discs.count > 1 || start > 1
            let total = isPart ? 0 : members.compactMap { files[$0].facts?.tracks }.max() ?? 0
            let known = Set(members.compactMap { files[$0].track })
            doubts += Self.gaps(known, from: start, upTo: total).map { "\(label): \(Self.missing($0, "track"))" }
            let wild = members.filter { Self.isWild(files[$0].track, among: known) }.map { files[$0].name }
            if !wild.isEmpty {
                let have = Plural.have(wild.count)
                doubts.append("\(label): \(Self.list(wild)) \(have) a track number far above the others")
            }
            for number in known.sorted() {
                let names = members.filter { files[$0].track == number }.map { files[$0].name }
                guard names.count > 1 else { continue }
                let who = names.count == 2 ? "both" : "all"
                doubts.append("\(label): \(Self.list(names)) \(who) say track \(number)")
            }
            let silent = members.filter { files[$0].track == nil && files[$0].problem == nil }.map { files[$0].name }
            if !silent.isEmpty {
                doubts.append("\(label): \(Self.list(silent)) \(Plural.have(silent.count)) no track number")
            }
        }
        return doubts
    }

    /// The track with which each group of files begins: 1, or the one behind the group before if the numbers go on through
    /// all groups, of which no total tells otherwise.
    private static func starts(of groups: [[Book.File]]) -> [Int] {
        var (starts, last): ([Int], Int) = ([], 0)
        for group in groups {
            let tracks = group.compactMap(\.track)
            guard let least = tracks.min(), let most = tracks.max(), least > last,
                starts.isEmpty || most > group.compactMap({ $0.facts?.tracks }).max() ?? 0
            else { return groups.map { _ in 1 } }
            starts.append(last + 1)
            last = most
        }
        return starts
    }

    /// Whether gaps say nothing of a number, as it is out of all proportion.
    private static func isWild(_ track: Int?, among known: Set<Int>) -> Bool {
        guard let track, let least = known.min() else { return false }
        return least <= 100 && track > 2 * known.count + 100
    }

    /// The ranges of numbers from `start` on that are missing. Totals and numbers that are out of all proportion say nothing.
    private static func gaps(_ known: Set<Int>, from start: Int = 1, upTo total: Int) -> [ClosedRange<Int>] {
        // 101, 102, 201: the first digit is the disc.
        if start == 1, let least = known.min(), least > 100 {
            let hundreds = Dictionary(grouping: known) { ($0 - 1) / 100 }.sorted { $0.key < $1.key }
            return hundreds.flatMap { Self.gaps(Set($0.value), from: $0.key * 100 + 1, upTo: 0) }
        }
        let most = start + 2 * known.count + 99
        var (gaps, next): ([ClosedRange<Int>], Int) = ([], start)
        for number in known.sorted() where number >= start && number <= most {
            if number > next { gaps.append(next...(number - 1)) }
            next = number + 1
        }
        if total >= next, total <= most { gaps.append(next...total) }
        return gaps
    }

    /// `track 7 is missing`
    private static func missing(_ range: ClosedRange<Int>, _ noun: String) -> String {
        range.count == 1
            ? "\(noun) \(range.lowerBound) is missing"
            : "\(noun)s \(range.lowerBound) to \(range.upperBound) are missing"
    }

    /// `a.mp3 and b.mp3`
    private static func list(_ names: [String]) -> String {
        guard names.count > 1 else { return names.first ?? "" }
        guard names.count <= 4 else { return "\(names[0]), \(names[1]) and \(names.count - 2) more" }
        return names.dropLast().joined(separator: ", ") + " and " + (names.last ?? "")
    }
}

extension String {
    /// What stands before the last slash; empty if there is none.
    var parentName: String {
        utf8.lastIndex(of: UInt8(ascii: "/")).map { String(Substring(utf8[..<$0])) } ?? ""
    }
}
