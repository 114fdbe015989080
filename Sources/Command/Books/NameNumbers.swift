import Conversion
import Storage

/// The numbers in the names of files, and of the folders that they are in.
enum NameNumbers {
    /// Numbers that are missing, or that several names have, where all names in a folder have one in the same place. Without
    /// such numbers, the order is that of the alphabet, which is a doubt, too.
    static func doubts(_ names: [String], in book: String) -> [String] {
        levels(names).flatMap { level in
            let doubts = doubts(in: level.files, "file") + doubts(in: level.folders, "folder")
            return doubts.map { "\(level.label(in: book)): \($0)" }
        }
    }

    /// Those about the names of folders.
    static func folderDoubts(_ names: [String], in book: String) -> [String] {
        levels(names).flatMap { level in
            doubts(in: level.folders, "folder").map { "\(level.label(in: book)): \($0)" }
        }
    }

    /// Whether all names in each folder have a number in the same place, each another one.
    static func areComplete(_ names: [String]) -> Bool {
        levels(names).allSatisfy { areComplete(inFolder: $0.files) && areComplete(inFolder: $0.folders) }
    }

    private static func areComplete(inFolder names: [String]) -> Bool {
        guard names.count > 1 else { return true }
        return counts(in: names)?.allSatisfy { Set($0.numbers).count == $0.numbers.count } ?? false
    }

    // MARK: - Folders

    /// What a folder holds: the names of files, without their extensions, and of folders.
    private struct Level {
        let folder: String
        var files: [String] = []
        var folders: [String] = []

        func label(in book: String) -> String { folder.isEmpty ? book : "\(book)/\(folder)" }
    }

    private static func levels(_ names: [String]) -> [Level] {
        var levels: [String: Level] = [:]
        for name in names {
            var folder = name.parentName
            let isNew = levels[folder] == nil
            levels[folder, default: Level(folder: folder)].files.append((name.lastPathName ?? name).withoutExtension)
            guard isNew else { continue }
            // The folders around it know it already if one of them holds it.
            while !folder.isEmpty, let last = folder.lastPathName {
                let parent = folder.parentName
                guard levels[parent]?.folders.contains(last) != true else { break }
                levels[parent, default: Level(folder: parent)].folders.append(last)
                folder = parent
            }
        }
        return levels.values.sorted { NaturalOrder.precedes($0.folder, $1.folder) }
    }

    // MARK: - Numbers

    /// Numbers that count up together.
    private struct Count {
        /// What stands before them where a name has two numbers, as `1-` of `1-02`.
        let front: String
        let numbers: [Int]
    }

    /// The numbers of these names, at the first place where they differ; `nil` if they have none in the same place.
    private static func counts(in names: [String]) -> [Count]? {
        let found = names.map { numbers(in: $0) }
        for place in 0..<(found.map(\.count).min() ?? 0) {
            guard Set(found.map { $0[place].front }).count == 1 else { return nil }
            let numbers = found.map { $0[place].number }
            let (first, last) = (numbers.min() ?? 0, numbers.max() ?? 0)
            if first == last { continue }
            // Years and the like are no numbers of tracks.
            guard last - first < 2 * numbers.count + 10 else { return nil }
            return Set(numbers).count < numbers.count
                ? pairs(found, at: place) ?? [Count(front: "", numbers: numbers)] : [Count(front: "", numbers: numbers)]
        }
        return nil
    }

    /// The numbers behind a number that several names have, as in `1-01`, `1-02`, `2-01`; `nil` if those repeat, too.
    private static func pairs(_ found: [[(front: String, number: Int)]], at place: Int) -> [Count]? {
        let next = place + 1
        guard found.allSatisfy({ $0.count > next }), let between = found.first?[next].front,
            found.allSatisfy({ $0[next].front == between })
        else { return nil }
        let groups = Dictionary(grouping: found) { $0[place].number }
        let counts = groups.keys.sorted().map { key in
            Count(front: "\(key)\(between)", numbers: (groups[key] ?? []).map { $0[next].number })
        }
        guard counts.allSatisfy({ Set($0.numbers).count == $0.numbers.count }) else { return nil }
        return [Count(front: "", numbers: Array(groups.keys))] + counts
    }

    private static func doubts(in names: [String], _ noun: String) -> [String] {
        guard names.count > 1 else { return [] }
        let equal = Dictionary(grouping: names) { $0 }.filter { $0.value.count > 1 }.keys.sorted()
        let twice = equal.map { "several \(noun)s are called \($0), and all of them are heard" }
        guard let counts = counts(in: names) else {
            return twice + ["not all names of \(noun)s have a number in the same place, so their order may be wrong"]
        }
        return twice + counts.flatMap { doubts(about: $0, noun) }
    }

    private static func doubts(about count: Count, _ noun: String) -> [String] {
        let (known, front) = (Set(count.numbers).sorted(), count.front)
        guard let first = known.first else { return [] }
        var doubts: [String] = []
        // Where the second part is there, the first one is missing; a later disc may begin at any number.
        var next = first == 2 ? 1 : first
        for number in known {
            if number == next + 1 { doubts.append("no \(noun) has the number \(front)\(next)") }
            if number > next + 1 {
                doubts.append("no \(noun) has a number from \(front)\(next) to \(front)\(number - 1)")
            }
            next = number + 1
        }
        let repeated = known.filter { number in count.numbers.count(where: { $0 == number }) > 1 }
        return doubts + repeated.map { "several \(noun)s have the number \(front)\($0)" }
    }

    /// The numbers in a name, each with what stands before it. Of more than nine digits, zeros before them apart, it is a date
    /// or the like, and belongs to the text.
    private static func numbers(in name: String) -> [(front: String, number: Int)] {
        var (found, front): ([(front: String, number: Int)], String) = ([], "")
        var rest = Array(name.lowercased().unicodeScalars)[...]
        while let letter = rest.first {
            let digits = rest.prefix(while: isDigit)
            if digits.isEmpty {
                front.unicodeScalars.append(letter)
                rest = rest.dropFirst()
                continue
            }
            rest = rest.dropFirst(digits.count)
            let significant = digits.drop { $0 == "0" }
            guard significant.count <= 9 else {
                front.unicodeScalars.append(contentsOf: digits)
                continue
            }
            found.append((front, Int(String(String.UnicodeScalarView(significant))) ?? 0))
            front = ""
        }
        return found
    }

    private static func isDigit(_ letter: Unicode.Scalar) -> Bool { (0x30...0x39).contains(letter.value) }
}
