import Conversion
import Storage

/// Which files are one book: those of a folder, and of the discs in it.
enum BookFolders {
    /// The files of a book, by their indices.
    struct Group: Sendable, Equatable {
        /// The folder, as `{dir}` has it.
        let folder: String
        /// The path of the folder.
        let place: String
        fileprivate(set) var members: [Int] = []
        /// The paths of the members below the folder.
        fileprivate(set) var names: [String] = []

        /// Those about links in the folder and in its discs. A link to a folder that is no disc would be another book.
        func doubts(_ links: [FolderWalk.Link]) -> [String] {
            links.sorted { $0.path < $1.path }.compactMap { link in
                let (parent, name) = (link.path.parentName, link.path.lastPathName ?? link.path)
                if link.leadsToFolder, !BookFolders.isDisc(name) { return nil }
                if parent == place { return "\(folder): \(link.doubt(name))" }
                guard !link.leadsToFolder, let disc = parent.lastPathName, BookFolders.isDisc(disc),
                    parent.parentName == place
                else { return nil }
                return "\(folder): \(link.doubt("\(disc)/\(name)"))"
            }
        }
    }

    /// The groups in the order of their first files. `origin` is where a file is, and `relative` its path below the folder
    /// that the user named: files with the same folder there may lie in different places.
    static func groups(_ files: [(origin: String, relative: String)]) -> [Group] {
        var (groups, places): ([Group], [String: Int]) = ([], [:])
        for (index, file) in files.enumerated() {
            let below = file.relative.pathNames
            var (folders, folder, name) = (below.dropLast(), file.origin.parentName, below.last ?? file.relative)
            if let disc = folders.last, isDisc(disc) {
                folders.removeLast()
                folder = folder.parentName
                name = "\(disc)/\(name)"
            }
            let dir = folders.isEmpty ? self.name(of: folder) : folders.joined(separator: "/")
            let key = "\(folder)\0\(dir)"
            let place = places[key] ?? groups.count
            if place == groups.count {
                places[key] = place
                groups.append(Group(folder: dir, place: folder))
            }
            groups[place].members.append(index)
            groups[place].names.append(name)
        }
        return groups
    }

    /// Those of `places`, the places of all files, that are outputs of these groups: an earlier submission wrote them into the
    /// library. The outputs of a group stay if all its own files are outputs.
    static func outputs<Place: Hashable>(
        of groups: [Group],
        among places: [Place],
        _ destinations: (Group) -> [Place]
    ) -> Set<Place> {
        let known = Set(places)
        let made = groups.map { destinations($0).filter(known.contains) }
        let all = Set(made.joined())
        var found: Set<Place> = []
        for (group, own) in zip(groups, made) where group.members.contains(where: { !all.contains(places[$0]) }) {
            found.formUnion(own)
        }
        return found
    }

    /// The name of a folder that the user gave itself. Of a root that is not known here, the folder is `root:name`.
    private static func name(of folder: String) -> String {
        let last = folder.lastPathName ?? ""
        let bytes = last.utf8
        let start = folder == last ? bytes.firstIndex(of: UInt8(ascii: ":")).map { bytes.index(after: $0) } : nil
        let name = start.map { String(Substring(bytes[$0...])) } ?? last
        return name.isEmpty ? "book" : name
    }

    /// Whether a folder is a disc of the book around it: `CD 1`, `disc2`, `Part_03`.
    static func isDisc(_ name: String) -> Bool {
        let letters = name.lowercased()
        guard let word = ["cd", "disc", "disk", "part", "side", "tape"].first(where: letters.hasPrefix) else {
            return false
        }
        let digits = letters.dropFirst(word.count).drop { " ._-#".contains($0) }
        return (1...3).contains(digits.count) && digits.allSatisfy { ("0"..."9").contains($0) }
    }
}

extension FolderWalk.Link {
    /// `CD 2 is a link to a folder, and is left out`
    func doubt(_ name: String) -> String {
        "\(name) is a link to \(leadsToFolder ? "a folder" : "a file that is not there"), and is left out"
    }
}
