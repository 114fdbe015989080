import Conversion
import ObjectStorage
import Storage

/// A root that is no folder of this machine. Jobs read their sources there.
package enum ObjectRoot: Sendable {
    case bucket(BucketRoot)
    case web(WebRoot)

    package var name: String {
        switch self {
        case .bucket(let bucket): bucket.name
        case .web(let web): web.name
        }
    }

    /// The address, as `--root` takes it.
    package var text: String {
        switch self {
        case .bucket(let bucket): bucket.address.text
        case .web(let web): web.address.text
        }
    }

    /// Why no object of the root can be read now; `nil` if the server answers. Blocks.
    func problem() -> ObjectRootProblem? {
        switch self {
        case .bucket(let bucket): bucket.problem()
        case .web(let web): web.problem()
        }
    }

    /// By which its server knows the object at `path` below the root. Throws if no object can be there.
    func key(of path: String) throws(AddressError) -> String {
        switch self {
        case .bucket(let bucket): return try bucket.address.key(of: path)
        case .web(let web):
            _ = try web.address.url(of: path)
            return path
        }
    }

    /// Opens the object `key`. `wholeLimit` is the most bytes of an object that a web server sends without ranges. Blocks.
    func open(_ key: String, wholeLimit: Int64) throws(StoreError) -> ObjectReader {
        switch self {
        case .bucket(let bucket): try ObjectReader.open(key, in: bucket.client)
        case .web(let web): try ObjectReader.open(key, in: WebFile(web.server), wholeLimit: wholeLimit)
        }
    }

    /// The error of a job that reads `location`.
    func error(_ error: StoreError, reading location: Location) -> StorageError {
        var code = error.code(.source)
        // A store may fail for one object alone, and a web server redirect one to a host that is away. The diagnosis asks the
        // root itself, and disables it only if it does not answer either. A bucket that throttles may still list its keys.
        if code == .storageUnavailable, !isThrottled(error) { code = .sourceIO }
        let hint =
            switch self {
            case .bucket(let bucket): bucket.hint(error)
            case .web(let web): web.hint(error)
            }
        return StorageError(
            code,
            at: code == .sourceChanged ? .decode : .open,
            "read the source",
            error.detail,
            place: "\(location)",
            hint: hint
        )
    }

    private func isThrottled(_ error: StoreError) -> Bool {
        guard case .bucket = self, let problem = error.problem else { return false }
        return [429, 503].contains(problem.status)
    }
}

extension ObjectRoot: Hashable {
    package static func == (one: ObjectRoot, other: ObjectRoot) -> Bool {
        one.name == other.name && one.text == other.text
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(text)
    }
}

/// Why a root that is no folder cannot be used.
struct ObjectRootProblem: Sendable {
    var error: StorageError
    /// Whether it stays as it is until the configuration changes.
    var isMistake: Bool

    init(_ error: StoreError, of root: String, _ operation: String, isMistake: Bool) {
        self.error = StorageError(
            .storageUnavailable,
            at: .open,
            operation,
            error.detail,
            place: root,
            hint: error.hint
        )
        self.isMistake = isMistake
    }
}
