import Console
import ObjectStorage
import Worker

/// Opens the stores of roots that are buckets. Their credentials are looked up when they are first needed.
enum BucketPlaces {
    /// What is needed to open the store of a root.
    struct Store: Sendable {
        let address: BucketAddress
        /// Counts if the address has none.
        let region: String?
        let credentials: CredentialProvider
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
