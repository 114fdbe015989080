import Conversion

/// A path below a named root: `archive:2024/a.wav`.
///
/// Machines may mount one share at different places; each worker decides where a root's name leads. One place has
/// one spelling, so equal places are equal values. Names that only look the same, such as an é of one scalar and an
/// é of two, are different places.
public struct Location: Sendable, Hashable {
    /// The root's name.
    public let root: String
    /// Relative to the root: names separated by single slashes; `.` and `..` are not allowed.
    public let path: String

    /// Parses `text`. Throws `invalid_location`, or `outside_root` if it contains `..`.
    public init(_ text: String) throws(StorageError) {
        // Bytes or scalars throughout: a combining mark after a colon or a slash does not hide it from the kernel.
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            throw Self.refusal("the name of a root and a colon are missing, as in archive:2024/a.wav", text)
        }
        let root = String(text[..<colon])
        if let problem = Self.problem(ofRootName: root) { throw Self.refusal(problem, text) }
        try self.init(root: root, path: String(text[text.utf8.index(after: colon)...]))
    }

    /// The location of `path` below the root named `root`, which must be a valid name. Repeated slashes and `.` are
    /// removed.
    package init(root: String, path: String) throws(StorageError) {
        guard !Self.isClean(path) else {
            self.root = root
            self.path = path
            return
        }
        let whole = "\(root):\(path)"
        if path.utf8.first == Self.slash { throw Self.refusal("the path must be relative to the root", whole) }
        let written = path.pathNames
        let names = written.filter { $0 != "." }
        if names.contains("..") {
            throw StorageError(.outsideRoot, at: .open, "use the location", "it contains \"..\"", place: whole)
        }
        if names.isEmpty || path.utf8.last == Self.slash || written.last == "." {
            throw Self.refusal("it has no path", whole)
        }
        // With the terminating NUL, this is the kernel's limit.
        guard path.utf8.count <= Self.longestPath else {
            throw Self.refusal(
                "its path has \(Plural.count(path.utf8.count, "byte")); the limit is \(Self.longestPath)",
                whole
            )
        }
        // Control characters and line separators make names that no list can show. Direction marks are part of many
        // real names: they are allowed, and escaped for display.
        if path.unicodeScalars.contains(where: { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: true
            default: false
            }
        }) {
            throw Self.refusal("it contains control characters", whole)
        }
        self.root = root
        self.path = names.joined(separator: "/")
    }

    /// The location that has this description. Checks nothing, for descriptions that are kept by the million.
    package init(ofDescription text: String) {
        let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) ?? text.startIndex
        root = String(text[..<colon])
        path = String(Substring(text.utf8[colon...].dropFirst()))
    }

    /// Whether `path` needs no change and contains nothing that could be refused: true of almost all paths, of which there
    /// are millions. The careful checks decide about the others.
    private static func isClean(_ path: String) -> Bool {
        guard path.utf8.count <= longestPath else { return false }
        // A name that has begun, and consists of dots so far, may be empty, `.` or `..`.
        var isUndecided = true
        for byte in path.utf8 {
            switch byte {
            case slash:
                if isUndecided { return false }
                isUndecided = true
            case UInt8(ascii: "."): break
            // Control characters, and bytes with which others of them and line separators begin.
            case 0..<0x20, 0x7F, 0xC2, 0xE2: return false
            default: isUndecided = false
            }
        }
        return !isUndecided
    }

    /// The folder's path below the root; empty for the root itself.
    public var folder: String {
        path.utf8.lastIndex(of: Self.slash).map { String(Substring(path.utf8[..<$0])) } ?? ""
    }

    /// The last path component.
    public var name: String { path.lastPathName ?? path }

    /// The location itself, if files can be written there. Throws `invalid_location` for a name that file systems do not
    /// take. Sources are not held to this: a file that exists has a name that its file system takes.
    public func asDestination() throws(StorageError) -> Location {
        guard path.hasPathName(longerThan: Self.longestName),
            let long = path.pathNames.first(where: { $0.utf8.count > Self.longestName })
        else { return self }
        throw Self.refusal(
            "it makes a name of \(long.utf8.count) bytes, \(long.prefix(20))...; the limit is \(Self.longestName)",
            description
        )
    }

    /// A destination in the same folder with the same extension, and `-NUMBER` behind the name. Throws `invalid_location`
    /// if that name is too long.
    public func numbered(_ number: Int) throws(StorageError) -> Location {
        let ending = name.utf8.count - name.withoutExtension.utf8.count
        let stem = Substring(path.utf8.dropLast(ending))
        return try Location(root: root, path: "\(stem)-\(number)\(Substring(path.utf8.suffix(ending)))").asDestination()
    }

    /// The longest name of a file or folder, in bytes: the limit of Linux's file systems.
    public static let longestName = 255
    private static let slash = UInt8(ascii: "/")
    private static let longestPath = 4_095

    /// Why `name` cannot be the name of a root; `nil` if it can.
    static func problem(ofRootName name: String) -> String? {
        let isSpelled = name.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        if name.isEmpty || !isSpelled { return "the name of a root may contain letters, digits, - and _" }
        // Reserved, because they have a meaning everywhere else.
        return switch name {
        case "file", "http", "https", "s3": "\(name) is reserved and cannot be the name of a root"
        default: nil
        }
    }

    private static func refusal(_ detail: String, _ text: String) -> StorageError {
        StorageError(.invalidLocation, at: .open, "use the location", detail, place: text)
    }
}

extension Location {
    /// Whether both have the same bytes. String comparison would equate names that only look the same.
    public static func == (one: Location, other: Location) -> Bool {
        one.root == other.root && one.path.utf8.elementsEqual(other.path.utf8)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(root)
        var bytes = path
        bytes.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

extension Location: CustomStringConvertible {
    public var description: String { "\(root):\(path)" }
}
