import Console
import ObjectStorage
import Storage
import Worker

/// The roots of a worker that are no folders: buckets and web servers.
enum ObjectPlaces {
    /// Throws for an address that no such root can have, and for rules that say that it is written.
    static func roots(
        _ places: [WorkerConfiguration.RootPlace],
        environment: [String: String]
    ) throws -> [ObjectRoot] {
        try places.map { place throws -> ObjectRoot in
            guard place.rules.mayRead else {
                throw UsageError("--root \(place.name): workers only read from \(place.nounOfServer)".printable)
            }
            guard place.isBucket else { return .web(WebRoot(name: place.name, address: try address(of: place))) }
            let store = try BucketPlaces.store(
                BucketPlaces.address(of: place),
                of: place.name,
                environment: environment
            )
            return .bucket(
                BucketRoot(
                    name: place.name,
                    address: store.address,
                    region: store.region,
                    credentials: store.credentials
                )
            )
        }
    }

    /// Throws for an address that no web server can have.
    static func address(of place: WorkerConfiguration.RootPlace) throws(UsageError) -> WebAddress {
        do throws(AddressError) {
            return try WebAddress(place.path)
        } catch {
            throw UsageError("--root \(place.name): \(error.why)".printable, hint: error.hint?.printable)
        }
    }
}

extension WorkerConfiguration.RootPlace {
    /// Whether it is meant as a bucket.
    var isBucket: Bool { BucketAddress.isMeant(by: path) }
    /// Whether it is meant as a folder of this machine, and neither as a bucket nor as an address of a web server.
    var isFolder: Bool { !isBucket && !WebAddress.isMeant(by: path) }
    /// Of a root that is no folder, for messages.
    var nounOfServer: String { isBucket ? "buckets" : "web servers" }
}

extension UsageError {
    /// A bucket or a web server where a command takes folders only. `users` says who reads from such roots.
    static func server(_ place: WorkerConfiguration.RootPlace, _ users: String) -> UsageError {
        let (root, noun) = ("\(place.name)=\(place.path)", place.isBucket ? "bucket" : "web server")
        return UsageError(
            "--root \(root): only \(users) from \(place.nounOfServer)".printable,
            hint: "sluice doctor --root \(root) examines the \(noun)".printable
        )
    }
}
