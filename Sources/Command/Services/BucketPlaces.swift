import Console
import Conversion
import ObjectStorage
import Storage
import Worker

/// Roots that are buckets, with their credentials, which are looked up when they are first needed.
enum BucketPlaces {
    /// What is needed to open the store of a root.
    struct Store: Sendable {
        let address: BucketAddress
        /// Counts if the address has none.
        let region: String?
        let credentials: CredentialProvider
    }

    /// The roots of a worker. Throws for an address that no bucket can have, and for rules that say that a bucket is written.
    static func roots(
        _ places: [WorkerConfiguration.RootPlace],
        environment: [String: String]
    ) throws -> [BucketRoot] {
        try places.map { place throws in
            guard place.rules.mayRead else {
                throw UsageError("--root \(place.name): workers only read from buckets".printable)
            }
            let store = try store(address(of: place), of: place.name, environment: environment)
            return BucketRoot(
                name: place.name,
                address: store.address,
                region: store.region,
                credentials: store.credentials
            )
        }
    }

    /// Throws for an address that no bucket can have.
    static func address(of place: WorkerConfiguration.RootPlace) throws(UsageError) -> BucketAddress {
        do throws(AddressError) {
            return try BucketAddress(place.path)
        } catch {
            throw UsageError("--root \(place.name): \(error.why)".printable, hint: error.hint?.printable)
        }
    }

    /// Reads the files of settings that say which region and which credentials there are.
    static func store(
        _ address: BucketAddress,
        of root: String,
        environment: [String: String]
    ) throws(UsageError) -> Store {
        let places = CredentialPlaces(environment: environment, profile: address.options.profile)
        do throws(CredentialError) {
            let region = try places.region()
            return Store(address: address, region: region, credentials: CredentialProvider(places))
        } catch {
            throw UsageError("--root \(root): \(error.why)".printable, hint: error.hint?.printable)
        }
    }
}
