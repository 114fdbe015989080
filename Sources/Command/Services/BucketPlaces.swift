import Console
import Conversion
import ObjectStorage
import Storage
import Worker

/// The roots of a worker that are buckets, with their credentials, which are looked up when they are first needed.
enum BucketPlaces {
    /// Throws for an address that no bucket can have, and for rules that say that a bucket is written.
    static func roots(
        _ places: [WorkerConfiguration.RootPlace],
        environment: [String: String]
    ) throws -> [BucketRoot] {
        try places.map { place throws in
            guard place.rules.mayRead else {
                throw UsageError("--root \(place.name): workers only read from buckets".printable)
            }
            do {
                let address = try BucketAddress(place.path)
                let places = CredentialPlaces(environment: environment, profile: address.options.profile)
                return BucketRoot(
                    name: place.name,
                    address: address,
                    region: try places.region(),
                    credentials: CredentialProvider(places)
                )
            } catch let error as AddressError {
                throw UsageError("--root \(place.name): \(error.why)".printable, hint: error.hint?.printable)
            } catch let error as CredentialError {
                throw UsageError("--root \(place.name): \(error.why)".printable, hint: error.hint?.printable)
            }
        }
    }
}
