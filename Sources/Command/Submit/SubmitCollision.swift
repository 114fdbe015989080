import Console
import Conversion
import Storage

/// What `submit` does if several sources would have the same destination.
enum SubmitCollision: String, Sendable, CaseIterable {
    case fail, number

    var summary: String {
        switch self {
        case .fail: "fail and submit nothing"
        case .number: "add -2, -3 to the names after the first"
        }
    }

    static let option = SettledOption<SubmitCollision>(
        "on-collision",
        .choice("WHAT") { $0.summary },
        fallback: "fail",
        "what to do if several sources have the same destination",
        environment: "SLUICE_ON_COLLISION",
        in: .destination
    )

    static let portableNames = Switch(
        "portable-names",
        "take destinations for one that differ in case or Unicode form only",
        in: .destination
    )
}

/// Tells which destinations are one file.
struct DestinationNames: Sendable {
    /// The destinations for which `key` is equal are one file.
    enum Key: Hashable {
        case exact(Location)
        /// Strings are equal in Swift whatever the composition of their letters is.
        case folded(root: String, String)
    }

    private let roots: PathRoots
    private let isPortable: Bool
    /// Whether names are folded, by the root and the first folder below it: another file system may be mounted there.
    private var folding: [String: Bool] = [:]

    init(_ roots: PathRoots, isPortable: Bool) { (self.roots, self.isPortable) = (roots, isPortable) }

    mutating func key(_ place: Location) -> Key {
        guard folds(place) else { return .exact(place) }
        return .folded(root: place.root, place.path.lowercased())
    }

    private mutating func folds(_ place: Location) -> Bool {
        if isPortable { return true }
        let first = place.path.utf8.prefix { $0 != UInt8(ascii: "/") }
        let known = "\(place.root):\(first.count < place.path.utf8.count ? String(Substring(first)) : "")"
        if let folds = folding[known] { return folds }
        // The names of a root that is not on this machine are compared as they are.
        let folds = roots.path(of: place).map(FileSystemFacts.foldsNames) ?? false
        folding[known] = folds
        return folds
    }
}
