import Conversion
package import ObjectStorage
import Storage

/// A root that is a bucket or a part of one. Jobs read their sources there.
package struct BucketRoot: Sendable {
    package let name: String
    package let address: BucketAddress
    let client: StoreClient
    /// For the question whether the store answers, which is asked again and again.
    private let checker: StoreClient

    /// `region` counts if the address has none.
    package init(name: String, address: BucketAddress, region: String?, credentials: CredentialProvider) {
        (self.name, self.address) = (name, address)
        client = StoreClient(address, region: region, credentials: credentials, patience: Self.patience)
        checker = StoreClient(address, region: region, credentials: credentials, patience: Self.impatience)
    }

    /// For one request with all its attempts. A store that does not answer for longer counts as gone.
    private static let patience: StoreClient.Patience = {
        var patience = StoreClient.Patience()
        (patience.attempts, patience.deadline) = (6, .seconds(120))
        return patience
    }()
    private static let impatience: StoreClient.Patience = {
        var patience = StoreClient.Patience()
        (patience.attempts, patience.deadline, patience.silenceLimit) = (2, .seconds(10), .seconds(8))
        return patience
    }()

    /// Why no object of the root can be read now; `nil` if the store answers. Blocks.
    func problem() -> BucketProblem? {
        do throws(StoreError) {
            _ = try checker.page(prefix: address.prefix, most: 1)
            return nil
        } catch {
            let concernsCredentials = error.problem?.concernsCredentials == true || error.isOfSignature
            // Credentials that may not list may still read.
            if error.kind == .accessDenied, !concernsCredentials { return nil }
            let mistakes: Set<StoreError.Kind> = [.noSuchBucket, .noCredentials, .accessDenied, .refused]
            return BucketProblem(
                error: StorageError(
                    .storageUnavailable,
                    at: .open,
                    "use the bucket",
                    error.detail,
                    place: name,
                    hint: error.hint
                ),
                isMistake: mistakes.contains(error.kind)
            )
        }
    }
}

/// Why a bucket cannot be used.
struct BucketProblem: Sendable {
    var error: StorageError
    /// Whether it stays as it is until the configuration changes.
    var isMistake: Bool
}

extension BucketRoot: Hashable {
    package static func == (one: BucketRoot, other: BucketRoot) -> Bool {
        one.name == other.name && one.address == other.address
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(address)
    }
}

extension StoreError {
    /// Whether the store has found that the key and the secret do not belong together.
    fileprivate var isOfSignature: Bool { problem?.code == "SignatureDoesNotMatch" }

    /// The error of a job that reads `location`.
    func reading(_ location: Location, in address: BucketAddress) -> StorageError {
        let code = code(.source)
        var hint = hint
        if kind == .accessDenied, !isOfSignature, problem?.concernsCredentials != true {
            let objects = "arn:aws:s3:::\(address.bucket)/\(address.prefix)*"
            hint = """
                allow the credentials s3:GetObject on \(objects); without s3:ListBucket, a store answers like this for missing \
                objects, too
                """
        }
        return StorageError(
            code,
            at: code == .sourceChanged ? .decode : .open,
            "read the source",
            detail,
            place: "\(location)",
            hint: hint
        )
    }
}
