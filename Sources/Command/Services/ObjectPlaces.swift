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
                throw UsageError("--root \(place.name): workers only read from \(place.nounOfServer)s".printable)
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
    var nounOfServer: String { isBucket ? "bucket" : "web server" }

    /// Throws for rules of such a root that forbid reading, and for a name that no location can have.
    func checkAsSource() throws(UsageError) {
        guard rules.mayRead else {
            let why = "a \(nounOfServer) is read only, and its rules forbid reading"
            throw UsageError("--root \(name): \(why)".printable)
        }
        do throws(StorageError) { _ = try Location("\(name):file") } catch {
            throw UsageError("--root \(name): \(error.detail)".printable)
        }
    }
}

extension UsageError {
    /// A bucket or a web server where a command takes folders only. `hint` says what the user can do instead, given the option
    /// for a shell.
    static func server(_ place: WorkerConfiguration.RootPlace, _ hint: (String) -> String) -> UsageError {
        let root = "\(place.name)=\(place.path)"
        return UsageError(
            "--root \(root): only submit, scan and workers read from \(place.nounOfServer)s".printable,
            hint: hint("--root \(ShellWord.quoted(root))").printable
        )
    }
}
