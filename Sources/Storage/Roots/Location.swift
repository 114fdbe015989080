/// A place below a named root: `archive:2024/a.wav`.
///
/// Machines may mount one share at different places; what a root's name means is each worker's own affair. One place has one
/// spelling, so that equal places are equal values. Names that only look the same, as with an é of one scalar and of two, are two places.
public struct Location: Sendable, Hashable {
    /// The root's name.
    public let root: String
    /// Relative to the root: names with single slashes between them, none of them `.` or `..`.
    public let path: String

    /// Reads `text`. Throws `invalid_location`, or `outside_root` if it climbs (`..`).
    public init(_ text: String) throws(StorageError) {
        // Scalars throughout: a mark that combines with a colon or a slash does not hide it from the kernel.
        let scalars = text.unicodeScalars
        guard let colon = scalars.firstIndex(of: ":") else {
            throw Self.refusal("there is no root's name before a colon, as in archive:2024/a.wav", text)
        }
        let root = String(scalars[..<colon])
        if let problem = Self.problem(ofRootName: root) { throw Self.refusal(problem, text) }
        try self.init(root: root, path: String(scalars[scalars.index(after: colon)...]))
    }

    /// The place of `path` below the root named `root`. Doubled slashes and `.` are taken out.
    init(root: String, path: String) throws(StorageError) {
        let whole = "\(root):\(path)"
        if path.utf8.first == Self.slash { throw Self.refusal("the path is not relative to the root", whole) }
        let written = path.pathNames
        let names = written.filter { $0 != "." }
        if names.contains("..") {
            throw StorageError(.outsideRoot, at: .open, "use the location", "it leads up", place: whole)
        }
        if names.isEmpty || path.utf8.last == Self.slash || written.last == "." {
            throw Self.refusal("it names no file", whole)
        }
        // With the NUL behind it, as much as the kernel takes.
        guard path.utf8.count <= Self.longestPath else {
            throw Self.refusal("its path has \(path.utf8.count) bytes, and may have \(Self.longestPath)", whole)
        }
        // Control characters and line ends make names that no list can show. Marks of direction are part of many real names: they are
        // escaped where they are shown.
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

    /// The folder's path below the root; empty if that is the root itself.
    public var folder: String {
        path.unicodeScalars.lastIndex(of: "/").map { String(path.unicodeScalars[..<$0]) } ?? ""
    }

    /// The last name.
    public var name: String { path.pathNames.last ?? path }

    private static let slash = UInt8(ascii: "/")
    private static let longestPath = 4_095

    /// Why no root can have that name, or `nil`.
    static func problem(ofRootName name: String) -> String? {
        let isSpelled = name.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        if name.isEmpty || !isSpelled { return "a root's name is made of letters, digits, - and _" }
        // Kept for what they mean everywhere else.
        return ["file", "http", "https", "s3"].contains(name) ? "\(name) is no name for a root" : nil
    }

    private static func refusal(_ detail: String, _ text: String) -> StorageError {
        StorageError(.invalidLocation, at: .open, "use the location", detail, place: text)
    }
}

extension Location {
    /// Whether both are the same bytes. Strings would be equal that only look the same.
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
