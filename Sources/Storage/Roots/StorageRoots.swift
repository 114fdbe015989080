import Conversion

/// The roots of one worker, by name.
public struct StorageRoots: Sendable {
    private let roots: [String: StorageRoot]

    /// Throws `invalid_location` if two roots have the same name.
    public init(_ roots: [StorageRoot]) throws(StorageError) {
        var named: [String: StorageRoot] = [:]
        for root in roots where named.updateValue(root, forKey: root.name) != nil {
            throw StorageError(
                .invalidLocation,
                at: .open,
                "open the roots",
                "two roots have the same name",
                place: root.name
            )
        }
        self.roots = named
    }

    /// Sorted.
    public var names: [String] { roots.keys.sorted() }

    /// The names of the roots that outputs may be published in, sorted.
    public var writableNames: [String] { names.filter { roots[$0]?.rules.mayWrite == true } }

    /// The root that `location` names. Throws `unknown_root`: another worker may have it.
    public func root(of location: Location) throws(StorageError) -> StorageRoot {
        if let root = roots[location.root] { return root }
        let detail =
            names.isEmpty
            ? "this machine has no roots" : "the roots of this machine are \(names.joined(separator: ", "))"
        throw StorageError(.unknownRoot, at: .open, "find the root of", detail, place: "\(location)")
    }
}
