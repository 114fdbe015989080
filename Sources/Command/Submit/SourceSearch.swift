import Console
import Conversion
import Glibc
import Ledger
import Storage
import System

extension PathRoots {
    /// The location of a file that all jobs of a batch read. Throws a `Refusal` if it does not exist here, unless its
    /// root is on other machines only.
    func location(ofNamed word: String) throws -> Location {
        var search = SourceSearch(roots: self, filter: NameFilter(includes: [], excludes: []), isRecursive: false)
        search.hintForFolders = "all jobs read it, so it must be a file"
        try search.take(word: word)
        guard let source = search.sources.first else { throw UsageError(search.misfits.joined(separator: "; ")) }
        return source.location
    }
}

/// Finds the files that arguments, folders and lists name.
struct SourceSearch {
    let roots: PathRoots
    let isRecursive: Bool
    private var walk: FolderWalk
    private var objects: ObjectWalk
    /// Objects that a list names, which are looked at together.
    private var listed: [Int] = []
    /// Objects in buckets of the workers to which the user has no access, and which are taken as they are written.
    private(set) var unseen = SubmitPlan.Sample()
    /// Folders of buckets in which there are no objects.
    private(set) var emptyFolders = SubmitPlan.Sample()
    private(set) var sources = FoundSources()
    /// Finds the source that has a location.
    private var known = EntryTable()
    /// Files that were named more than once; each is taken once.
    private(set) var repetitions = 0
    /// Names that no location can hold, each with the reason. They prevent the submission.
    private(set) var misfits: [String] = []
    /// Such names in folders and lists, which are left out unless the search is strict.
    private(set) var leftOut = SubmitPlan.Sample()
    private let isStrict: Bool
    /// What to do about a folder without -r.
    fileprivate var hintForFolders = "use -r to submit its files"
    private let progress: SubmitProgress?

    init(
        roots: PathRoots,
        filter: NameFilter,
        isRecursive: Bool,
        isStrict: Bool = true,
        progress: SubmitProgress? = nil
    ) {
        (self.roots, self.isRecursive, self.isStrict, self.progress) = (roots, isRecursive, isStrict, progress)
        walk = FolderWalk(filter: filter, progress: progress)
        objects = ObjectWalk(filter: filter, progress: progress)
    }

    /// Finds what `words` and the list of a command name, as the options that `submit` and `scan` share say.
    /// Where files are joined, names that cannot be used are not left out: an output without one of its parts is wrong.
    init(
        _ words: [String],
        _ roots: PathRoots,
        _ invocation: Invocation,
        joinsFiles: Bool = false,
        progress: SubmitProgress? = nil
    ) throws {
        self.init(
            roots: roots,
            filter: NameFilter(
                includes: invocation.all(SubmitOptions.include),
                excludes: invocation.all(SubmitOptions.exclude),
                matchesCase: invocation[SubmitOptions.matchCase]
            ),
            isRecursive: invocation[SubmitOptions.recursive],
            isStrict: invocation[SubmitOptions.strictNames] || joinsFiles,
            progress: progress
        )
        for word in words { try take(word: word) }
        if let file = invocation[SubmitOptions.filesFrom] {
            try PathList.read(file, byNull: invocation[SubmitOptions.null]) { path, shown in
                if let path { try take(listed: path) } else { takeMisfit(shown()) }
                progress?.addFile()
            }
        }
        try lookAtListed()
    }

    var otherKinds: Int { walk.otherKinds + objects.otherKinds }
    /// Links in folders that were not followed.
    var links: [FolderWalk.Link] { walk.links }

    /// The sources, which the search then forgets.
    mutating func takeSources() -> FoundSources {
        defer { (sources, known) = (FoundSources(), EntryTable()) }
        return sources
    }

    /// Adds a file, or with `-r` the contents of a folder. Throws a `Refusal` if it does not exist.
    mutating func take(word: String) throws {
        if roots.isLocation(ofSource: word) { return try takeLocation(word, isNamed: true) }
        let path = roots.absolute(word)
        if try isFolder(path, word) {
            try takeFolder(path, word)
        } else {
            try add(path: path, relative: path.lastPathName ?? "", shown: word, isNamed: true)
        }
    }

    /// Adds a file from a list. The file keeps the folder that it has in the list.
    mutating func take(listed word: String) throws {
        if roots.isLocation(ofSource: word) { return try takeLocation(word, isNamed: false) }
        let path = roots.absolute(word)
        guard try !isFolder(path, word) else {
            throw Self.folderInList(word)
        }
        // Most names in long lists are like this.
        if path == word { return try add(path: path, relative: String(Substring(path.utf8.dropFirst())), shown: word) }
        if word.isPlainRelativePath { return try add(path: path, relative: word, shown: word) }
        // A path with `..` leaves the folder it is relative to, so its absolute path is used instead.
        let names = word.pathNames.filter { $0 != "." }
        let isRelative = word.utf8.first != UInt8(ascii: "/") && !names.contains("..")
        let relative = (isRelative ? names : path.pathNames).joined(separator: "/")
        try add(path: path, relative: relative, shown: word)
    }

    /// Records a name in a list that is not UTF-8.
    mutating func takeMisfit(_ text: String) { addMisfit("\(text.printable): is not valid UTF-8", isNamed: false) }

    /// An invalid name on the command line always prevents the submission: the user asked for that file.
    private mutating func addMisfit(_ text: String, isNamed: Bool) {
        if isStrict || isNamed { misfits.append(text) } else { leftOut.add(text) }
    }

    private mutating func takeLocation(_ word: String, isNamed: Bool) throws {
        let colon = word.unicodeScalars.firstIndex(of: ":")!  // `isLocation` requires a colon
        let below = String(word.unicodeScalars[word.unicodeScalars.index(after: colon)...])
        if let bucket = roots.bucket(named: String(word.unicodeScalars[..<colon])) {
            return try take(word, below, in: bucket, isNamed: isNamed)
        }
        if roots.isWebServer(String(word.unicodeScalars[..<colon])) {
            return try takeWebFile(word, below, isNamed: isNamed)
        }
        guard let root = roots.root(named: String(word.unicodeScalars[..<colon])) else {
            // The root is not on this machine; the worker checks the file. It would find no file where `-r` means a folder.
            let name = below.lastPathName ?? ""
            guard !isNamed || !isRecursive || NameFilter.isAudio(name) else { throw SourceSearch.unknownFolder(word) }
            return add(word, relative: below, shown: word, isNamed: isNamed)
        }
        let path = roots.absolute("\(root.path)/\(below)")
        if try isFolder(path, word) {
            try takeFolder(path, word)
        } else {
            add(word, relative: below, shown: word, isNamed: isNamed)
        }
    }

    /// Takes a file of a web server as the user wrote it. The worker finds out whether it is there.
    private mutating func takeWebFile(_ word: String, _ below: String, isNamed: Bool) throws {
        let isFolder = below.isEmpty || below.utf8.last == UInt8(ascii: "/")
        guard isNamed || !isFolder else { throw Self.folderInList(word) }
        // With `-r`, a name without the extension of a sound means a folder.
        guard !isFolder, !isNamed || !isRecursive || NameFilter.isAudio(below.lastPathName ?? "") else {
            throw SourceWebServer.folder(word)
        }
        add(word, relative: below, shown: word, isNamed: isNamed)
    }

    /// The refusal of a folder in a root that is not on this machine.
    static func unknownFolder(_ location: String) -> UsageError {
        let root = location.unicodeScalars.prefix { $0 != ":" }
        let name = String(String.UnicodeScalarView(root)).printable
        return UsageError(
            "the folder of the root \(name) is not known here, so its files cannot be listed",
            hint: "--root \(name)=PATH says where it is on this machine, --root \(name)=s3://BUCKET/PREFIX in which "
                + "bucket, or --files-from FILE lists its files; a file needs no -r"
        )
    }

    private func isFolder(_ path: String, _ word: String) throws -> Bool {
        guard let facts = FileFacts.of(path: path, followingLinks: true) else {
            let number = errno
            throw Refusal(
                message: number == ENOENT
                    ? "\(word) does not exist" : "cannot read \(word): \(systemText(number))",
                exitCode: number == EACCES ? .permission : .notFound
            )
        }
        guard facts.kind == .file || facts.kind == .folder else {
            throw Refusal(message: "\(word) is a \(facts.kind.rawValue), not a file or a folder")
        }
        return facts.kind == .folder
    }

    private mutating func takeFolder(_ path: String, _ word: String) throws {
        guard isRecursive else { throw folderWithoutRecursion(word) }
        // Find the root once for the whole folder. The slash makes the folder of a root belong to that root.
        let place = roots.place(of: path == "/" ? path : path + "/")
        // Files under no root are sent one by one.
        guard place != nil || roots.uploads != nil else { throw roots.outside(word) }
        let inner = roots.roots.filter { $0.path.hasPrefix(path + "/") }
        // A copy, because the closure changes `self`.
        var walk = walk
        try walk.run(path) { relative in
            if let place, inner.isEmpty {
                add(relative: relative, shown: "\(path)/\(relative)", isNamed: false) { () throws(StorageError) in
                    try Location(root: place.root.name, path: String(place.below) + relative)
                }
            } else {
                try add(path: "\(path)/\(relative)", relative: relative, shown: "\(path)/\(relative)")
            }
        }
        self.walk = walk
        for name in walk.unreadableNames.dropFirst(takenNames) { takeMisfit(name) }
        takenNames = walk.unreadableNames.count
    }

    private var takenNames = 0

    // MARK: - Buckets

    /// Takes the object or the folder at `below`, as the user wrote it.
    private mutating func take(_ word: String, _ below: String, in bucket: SourceBucket, isNamed: Bool) throws {
        let names = below.pathNames.filter { $0 != "." }
        let path = names.joined(separator: "/")
        guard !names.contains("..") else { return addMisfit("\(word.printable): it contains \"..\"", isNamed: isNamed) }
        let isFolder = path.isEmpty || below.utf8.last == UInt8(ascii: "/")
        guard isNamed else {
            guard !isFolder else { throw Self.folderInList(word) }
            let count = sources.count
            add("\(bucket.name):\(path)", relative: path, shown: word)
            if sources.count > count { listed.append(count) }
            return
        }
        if isFolder { return try takeObjects(path, word, in: bucket) }
        var stamp: SourceStamp?
        switch try look(at: path, word, in: bucket) {
        case .object(let found): stamp = found
        case .unseen: unseen.add(word.printable)
        case .folder: return try takeObjects(path, word, in: bucket)
        }
        add(relative: path, shown: word, isNamed: true, stamp: stamp) { () throws(StorageError) in
            try Location(root: bucket.name, path: path)
        }
    }

    /// What is at a path of a bucket.
    private enum ObjectLook {
        case object(SourceStamp?)
        case folder
        /// The user's credentials do not tell, and the bucket is one of the workers.
        case unseen
    }

    private func look(at path: String, _ word: String, in bucket: SourceBucket) throws -> ObjectLook {
        var denial: (any Error)?
        var found = SourceBucket.Look.absent
        do {
            found = try bucket.look(at: path)
        } catch {
            // Credentials that may not read objects may still list them.
            guard SourceBucket.concernsCredentials(error), isRecursive || !bucket.isNamed else {
                if !isRecursive, bucket.isOutOfReach(error) { return .unseen }
                throw bucket.refusal(error, word, needing: SourceBucket.reading)
            }
            denial = error
        }
        if case .object(let stamp) = found {
            return try isFolderMeant(path, stamp, word, in: bucket) ? .folder : .object(stamp)
        }
        do {
            if try bucket.hasObjects(in: path) { return .folder }
        } catch {
            guard SourceBucket.concernsCredentials(error), !isRecursive else {
                throw bucket.refusal(error, word, needing: SourceBucket.listing)
            }
        }
        guard let denial else { throw Self.missing(word) }
        guard bucket.isNamed else { return .unseen }
        throw bucket.refusal(denial, word, needing: SourceBucket.reading)
    }

    /// Whether -r means the folder that has the name of an object. Throws a `UsageError` if the object may be meant as well.
    private func isFolderMeant(
        _ path: String,
        _ stamp: SourceStamp?,
        _ word: String,
        in bucket: SourceBucket
    ) throws -> Bool {
        guard isRecursive, !NameFilter.isAudio(path.lastPathName ?? path) else { return false }
        do {
            guard try bucket.hasObjects(in: path) else { return false }
        } catch {
            // Credentials that may not list can mean the object alone. Another error tells nothing of the folder.
            guard SourceBucket.concernsCredentials(error) else {
                throw bucket.refusal(error, word, needing: SourceBucket.listing)
            }
            return false
        }
        // Programs that show buckets as folders make such objects.
        if stamp?.bytes == 0 { return true }
        throw UsageError(
            "\(word.printable) is an object and a folder",
            hint: "a slash at its end means the folder; without -r, it means the object"
        )
    }

    private mutating func takeObjects(_ folder: String, _ word: String, in bucket: SourceBucket) throws {
        guard isRecursive else { throw folderWithoutRecursion(word) }
        // Copies, because the closure changes `self`.
        var objects = objects
        let start = folder.isEmpty ? "" : folder + "/"
        do {
            try objects.run(bucket, folder) { found in
                switch found {
                case .object(let relative, let stamp):
                    let path = start + relative
                    add(relative: relative, shown: "\(bucket.name):\(path)", isNamed: false, stamp: stamp) {
                        () throws(StorageError) in try Location(root: bucket.name, path: path)
                    }
                case .misfit(let relative, let why):
                    addMisfit("\(bucket.name):\(start)\(relative): \(why)".printable, isNamed: false)
                }
            }
        } catch {
            throw bucket.refusal(error, word, needing: SourceBucket.listing)
        }
        if objects.objectCount == self.objects.objectCount { emptyFolders.add(word.printable) }
        self.objects = objects
    }

    /// Looks at the objects that a list names, many at a time. Throws a `Refusal` if one does not exist.
    private mutating func lookAtListed() throws {
        guard !listed.isEmpty else { return }
        let (places, sources, roots) = (listed, sources, roots)
        let looks = ObjectLooks.run(
            places.count,
            at: { sources.location(places[$0]) },
            roots,
            onTick: { [progress] in progress?.look(at: $0, of: places.count) }
        )
        for (place, look) in zip(places, looks) {
            let shown = "\(sources.location(place))"
            switch look {
            case .success(.object(let stamp)): self.sources.set(stamp, of: place)
            case .success(.absent): throw Self.missing(shown)
            case .failure(let failure):
                guard !failure.bucket.isOutOfReach(failure.error) else {
                    unseen.add(shown.printable)
                    continue
                }
                throw failure.bucket.refusal(failure.error, shown, needing: SourceBucket.reading)
            }
        }
        listed = []
    }

    private static func missing(_ word: String) -> Refusal {
        Refusal(message: "\(word) does not exist", exitCode: .notFound)
    }

    private static func folderInList(_ word: String) -> Refusal {
        Refusal(message: "\(word) is a folder; a list may contain only files", exitCode: .usage)
    }

    private func folderWithoutRecursion(_ word: String) -> UsageError {
        UsageError("\(word.printable) is a folder", hint: hintForFolders)
    }

    /// Warns of folders without objects, and of objects that were not looked at.
    func remarkObjects(on console: CommandOutput) {
        if emptyFolders.count == 1 {
            console.warn("there are no objects in \(emptyFolders.lines[0])")
        } else if emptyFolders.count > 0 {
            console.warn((["there are no objects in these folders"] + emptyFolders.lines).joined(separator: "\n"))
        }
        guard unseen.count > 0 else { return }
        let objects = Figures.count(unseen.count, "object")
        let reason = "because you have no access to the bucket from here; workers may have access"
        let first = "\(objects) not looked at, \(reason)"
        console.warn(([first] + unseen.lines).joined(separator: "\n"))
    }

    // MARK: - Adding

    private mutating func add(path: String, relative: String, shown: String, isNamed: Bool = false) throws {
        if let (root, below) = roots.place(of: path) {
            return add(relative: relative, shown: shown, isNamed: isNamed) { () throws(StorageError) in
                try Location(root: root.name, path: String(below))
            }
        }
        guard let uploads = roots.uploads else { throw roots.outside(shown) }
        add(relative: relative, shown: shown, isNamed: isNamed) { () throws(StorageError) in
            try uploads.location(of: path)
        }
    }

    private mutating func add(_ location: String, relative: String, shown: String, isNamed: Bool = false) {
        add(relative: relative, shown: shown, isNamed: isNamed) { () throws(StorageError) in try Location(location) }
    }

    private mutating func add(
        relative: String,
        shown: @autoclosure () -> String,
        isNamed: Bool,
        stamp: SourceStamp? = nil,
        _ location: () throws(StorageError) -> Location
    ) {
        do throws(StorageError) {
            let place = try location()
            let hash = place.hashValue
            guard known.entry(hash: hash, where: { sources.location($0) == place }) == nil else {
                return repetitions += 1
            }
            known.insert(sources.count, hash: hash)
            sources.append(FoundSource(location: place, relative: relative, stamp: stamp))
        } catch {
            addMisfit("\(shown().printable): \(error.detail)", isNamed: isNamed)
        }
    }
}
