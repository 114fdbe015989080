import Conversion

/// The roots of one worker, by name.
public struct StorageRoots: Sendable {
    private let roots: [String: StorageRoot]

    /// Throws `invalid_location` if two roots have the same name.
    public init(_ roots: [StorageRoot]) throws(StorageError) {
        try Self.check(names: roots.map(\.name))
        self.init(named: Dictionary(uniqueKeysWithValues: roots.map { ($0.name, $0) }))
    }

    init(named roots: [String: StorageRoot]) { self.roots = roots }

    /// Throws `invalid_location` if two names are the same.
    public static func check(names: [String]) throws(StorageError) {
        var known: Set<String> = []
        for name in names where !known.insert(name).inserted {
            throw StorageError(
                .invalidLocation,
                at: .open,
                "open the roots",
                "two roots have the same name",
                place: name
            )
        }
    }

    /// All but these.
    public func without(_ names: Set<String>) -> StorageRoots {
        StorageRoots(named: roots.filter { !names.contains($0.key) })
    }

    /// Sorted.
    public var names: [String] { roots.keys.sorted() }

    /// The names of the roots that outputs may be published in, sorted.
    public var writableNames: [String] { names.filter { roots[$0]?.rules.mayWrite == true } }

    public subscript(name: String) -> StorageRoot? { roots[name] }

    /// The root that `location` names. Throws `unknown_root`: another worker may have it.
    public func root(of location: Location) throws(StorageError) -> StorageRoot {
        if let root = roots[location.root] { return root }
        let detail =
            names.isEmpty
            ? "this machine has no roots" : "the roots of this machine are \(names.joined(separator: ", "))"
        throw StorageError(.unknownRoot, at: .open, "find the root of", detail, place: "\(location)")
    }
}
