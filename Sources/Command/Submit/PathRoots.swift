import Console
import Glibc
import Storage
import System
import Worker

/// Maps folders of this machine to the roots that workers know, and so converts paths to locations and back.
struct PathRoots: Sendable {
    /// A root's name, and its folder on this machine.
    struct Root: Sendable, Hashable {
        let name: String
        /// Absolute, without a trailing slash; empty for `/`.
        let path: String
    }

    /// The root for `/` that applies if no roots are named.
    static let usual = Root(name: "local", path: "")

    private(set) var roots: [Root]
    /// Roots that are buckets, where sources are found. They hold no path of this machine.
    private(set) var buckets: [SourceBucket] = []
    /// Roots on web servers, whose files are taken as they are written.
    private(set) var webServers: [SourceWebServer] = []
    /// Where files go that lie under no root; `nil` if they go nowhere.
    private(set) var uploads: UploadPlaces?
    /// Why no file of this machine can be used; `nil` if those under the roots can.
    private var refusal: Refusal?
    /// How the user adds another root.
    private var wayToAdd = "add its folder with --root NAME=PATH"
    private let home: String?
    private let here: String

    /// If `roots` is empty, uses the usual one. `here` is the folder for relative paths.
    init(_ roots: [Root], home: String?, here: String) {
        // Longest path first, so that the innermost root matches first.
        self.roots = roots.isEmpty ? [Self.usual] : roots.sorted { $0.path.utf8.count > $1.path.utf8.count }
        self.home = home
        self.here = here
    }

    /// The same roots, of which files under none are sent to the cluster. Without `isNamed`, no root of this machine is one
    /// of the cluster's.
    func sending(to uploads: UploadPlaces, isNamed: Bool) -> PathRoots {
        var roots = self
        roots.uploads = uploads
        if !isNamed { roots.roots = [] }
        return roots
    }

    /// The same roots, and `servers` beside them, which are buckets and web servers. `areNamed`: whether the user named them for
    /// this command. Throws if two roots have one name, and for a root that no server can have.
    func adding(
        _ servers: [WorkerConfiguration.RootPlace],
        areNamed: Bool,
        environment: [String: String]
    ) throws(UsageError) -> PathRoots {
        var roots = self
        // The usual root gives way to a server of its name.
        roots.roots.removeAll { root in root == Self.usual && servers.contains { $0.name == root.name } }
        var names = Set(roots.roots.map(\.name) + roots.buckets.map(\.name) + roots.webServers.map(\.name))
        for place in servers {
            if place.isBucket {
                roots.buckets.append(try SourceBucket(place, isNamed: areNamed, environment: environment))
            } else {
                roots.webServers.append(try SourceWebServer(place))
            }
            guard names.insert(place.name).inserted else { throw UsageError("--root \(place.name) is given twice") }
        }
        return roots
    }

    /// No folder at all: every file of this machine is refused.
    func refusing(because refusal: Refusal) -> PathRoots {
        var roots = self
        (roots.roots, roots.refusal) = ([], refusal)
        return roots
    }

    /// The same roots, which are all that the private cluster has. `command` gives it these, and those that follow it.
    func ofPrivateCluster(changedBy command: String) -> PathRoots {
        var roots = self
        roots.wayToAdd = "give your private cluster its folder, too: \(command) --root NAME=PATH"
        return roots
    }

    /// Parses words of the form `NAME=PATH`, one per root.
    init(words: [String], environment: [String: String]) throws {
        let here = try Self.currentFolder()
        let home = environment["HOME"].flatMap { $0.isEmpty ? nil : $0 }
        let reader = PathRoots([], home: home, here: here)
        var roots: [Root] = []
        for word in words {
            let (name, path): (String, String)
            do throws(Misfit) { (name, path) = try Self.parts(of: word) } catch {
                throw UsageError("--root \(word): \(error.why)", hint: error.hint)
            }
            do {
                // Storage defines the rules for names.
                _ = try Location("\(name):file")
            } catch {
                throw UsageError("--root \(word): \(error.detail)")
            }
            if roots.contains(where: { $0.name == name }) { throw UsageError("--root \(name) is given twice") }
            let folder = reader.absolute(path)
            roots.append(Root(name: name, path: folder == "/" ? "" : folder))
        }
        // Add each root's real path as well: the current folder, for one, is known by its real path.
        let real = roots.compactMap { root in
            Self.realPath(root.path).map { Root(name: root.name, path: $0 == "/" ? "" : $0) }
        }
        self.init(roots + real.filter { !roots.contains($0) }, home: home, here: here)
    }

    /// The parts of `NAME=PATH`, neither of which may be empty: without a path, the root would be the current folder.
    fileprivate static func parts(of word: String) throws(Misfit) -> (name: String, path: String) {
        guard let sign = word.firstIndex(of: "="), sign != word.startIndex, word.index(after: sign) != word.endIndex
        else { throw Misfit(why: "must be NAME=PATH", hint: "as in --root podcasts=/srv/podcasts") }
        return (String(word[..<sign]), String(word[word.index(after: sign)...]))
    }

    private static func currentFolder() throws -> String {
        guard let buffer = getcwd(nil, 0) else {
            throw Refusal(message: "cannot determine the current folder: \(systemText(errno))")
        }
        defer { free(buffer) }
        guard let path = String(validatingCString: buffer) else {
            throw Refusal(message: "the path of the current folder is not valid UTF-8")
        }
        return path
    }

    /// The absolute path, without `.` and `..`. Expands `~/` to the user's home: templates are quoted, so the shell
    /// does not expand them.
    func absolute(_ path: String) -> String {
        var whole = path
        if path == "~" || path.utf8.starts(with: "~/".utf8), let home { whole = home + path.dropFirst() }
        if whole.utf8.first != UInt8(ascii: "/") { whole = here + "/" + whole }
        guard !whole.isPlainAbsolutePath else { return whole }
        var names: [String] = []
        for name in whole.pathNames where name != "." {
            if name == ".." { _ = names.popLast() } else { names.append(name) }
        }
        return "/" + names.joined(separator: "/")
    }

    /// Whether a word is a location below a root, such as `archive:2024/a.wav`, and not a path of this machine.
    static func isLocation(_ word: String) -> Bool {
        guard let colon = word.utf8.firstIndex(of: UInt8(ascii: ":")), colon != word.startIndex else { return false }
        return word.utf8[..<colon].allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    /// Whether the name of a source is a location. What begins like one, but with the name of no root of this machine, is
    /// a file if there is one of that name: `12:30 interview.wav`.
    func isLocation(ofSource word: String) -> Bool {
        guard Self.isLocation(word) else { return false }
        let scalars = word.unicodeScalars
        let name = String(scalars.prefix { $0 != ":" })
        if root(named: name) != nil || isServer(name) { return true }
        return FileFacts.of(path: absolute(word), followingLinks: true) == nil
    }

    /// The innermost root that holds an absolute path, and the path below it; `nil` if no root does.
    ///
    /// Keeps a trailing slash. Follows links only if the path as given lies under no root.
    func place(of path: String) -> (root: Root, below: Substring)? {
        if let place = literalPlace(of: path) { return place }
        let slash = path.utf8.last == UInt8(ascii: "/") ? "/" : ""
        return Self.realPath(path).flatMap { literalPlace(of: $0 + slash) }
    }

    private func literalPlace(of path: String) -> (root: Root, below: Substring)? {
        // Compare bytes: a name may begin with a mark that combines with the slash, and names that look the same
        // may differ.
        for root in roots where path.utf8.starts(with: (root.path + "/").utf8) {
            return (root, Substring(path.utf8.dropFirst(root.path.utf8.count + 1)))
        }
        return nil
    }

    /// The path with all links resolved; `nil` if it does not exist or is not UTF-8.
    private static func realPath(_ path: String) -> String? {
        guard let buffer = realpath(path.isEmpty ? "/" : path, nil) else { return nil }
        defer { free(buffer) }
        return String(validatingCString: buffer)
    }

    /// The path of a location on this machine; `nil` if its root is not named here.
    func path(of location: Location) -> String? {
        if let file = uploads?.file(at: location) { return file.path }
        return roots.first { $0.name == location.root }.map { "\($0.path)/\(location.path)" }
    }

    func root(named name: String) -> Root? { roots.first { $0.name == name } }

    func bucket(named name: String) -> SourceBucket? { buckets.first { $0.name == name } }

    func isWebServer(_ name: String) -> Bool { webServers.contains { $0.name == name } }

    /// Whether the root of that name is a bucket or on a web server.
    func isServer(_ name: String) -> Bool { bucket(named: name) != nil || isWebServer(name) }

    /// The template relative to a root: `~/out/{dir}/{stem}.mp3` becomes `local:home/ada/out/{dir}/{stem}.mp3`.
    func template(_ text: String, of option: String = "--to") throws -> DestinationTemplate {
        do {
            if Self.isLocation(text) { return try DestinationTemplate(text) }
            // The part before the first field is a path of this machine; the rest is appended below it.
            let scalars = text.unicodeScalars
            let cut = text.range(ofField: "{") ?? text.endIndex
            let folders = scalars[..<cut].lastIndex(of: "/").map { scalars.index(after: $0) } ?? text.startIndex
            let literal = String(scalars[..<folders]).unbraced
            let folder = absolute(literal.isEmpty ? "." : literal)
            let rest = String(scalars[folders...])
            guard let (root, below) = place(of: folder == "/" ? "/" : folder + "/") else {
                guard uploads == nil else { throw Self.notOfTheCluster(text, option) }
                throw outside("the destination \(text)")
            }
            let start = below.isEmpty || below.utf8.last == UInt8(ascii: "/") ? String(below) : below + "/"
            return try DestinationTemplate("\(root.name):\(start.braced)\(rest)")
        } catch let error as StorageError {
            throw UsageError("\(option) \(text): \(error.detail)")
        }
    }

    /// The error of a destination on this machine, whose files workers do not have.
    private static func notOfTheCluster(_ text: String, _ option: String) -> UsageError {
        UsageError(
            "\(option) \(text.printable) is on this machine, where workers cannot write",
            hint:
                "name a root of the workers, as in \(option) out:{dir}/{stem}.flac; with --wait --fetch DIR, the outputs "
                + "come to this machine"
        )
    }

    /// The error of a file or a folder that lies under no root.
    func outside(_ what: String) -> any Error {
        if let refusal { return refusal }
        let names = roots.map { "\($0.name)=\($0.path.isEmpty ? "/" : $0.path)" }.joined(separator: ", ")
        return UsageError(
            "\(what) is not under any root (\(names))",
            hint: wayToAdd
        )
    }
}

extension String {
    /// The index of the first single brace; a doubled brace stands for a literal one.
    fileprivate func range(ofField brace: Unicode.Scalar) -> Index? {
        let scalars = unicodeScalars
        var place = startIndex
        while let found = scalars[place...].firstIndex(of: brace) {
            let next = scalars.index(after: found)
            guard next < endIndex, scalars[next] == brace else { return found }
            place = scalars.index(after: next)
        }
        return nil
    }

    /// Doubles each brace, to escape it in a template.
    fileprivate var braced: String {
        String(UnicodeScalarView(unicodeScalars.flatMap { $0 == "{" || $0 == "}" ? [$0, $0] : [$0] }))
    }

    /// Turns each doubled brace into a single one.
    fileprivate var unbraced: String {
        var text = UnicodeScalarView()
        var isSecond = false
        for letter in unicodeScalars {
            if (letter == "{" || letter == "}") && text.last == letter && !isSecond {
                isSecond = true
            } else {
                isSecond = false
                text.append(letter)
            }
        }
        return String(text)
    }
}

extension ValueType where Value == String {
    static let rootWord = ValueType(placeholder: "NAME=PATH", completion: .namedFolders) { text throws(Misfit) in
        _ = try PathRoots.parts(of: text)
        return text
    }
}
