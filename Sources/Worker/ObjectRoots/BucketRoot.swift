package import ObjectStorage

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
    static let patience: StoreClient.Patience = {
        var patience = StoreClient.Patience()
        (patience.attempts, patience.deadline) = (6, .seconds(120))
        return patience
    }()
    static let impatience: StoreClient.Patience = {
        var patience = StoreClient.Patience()
        (patience.attempts, patience.deadline, patience.silenceLimit) = (2, .seconds(10), .seconds(8))
        return patience
    }()

    /// Why no object of the root can be read now; `nil` if the store answers. Blocks.
    func problem() -> ObjectRootProblem? {
        do throws(StoreError) {
            _ = try checker.page(prefix: address.prefix, most: 1)
            return nil
        } catch {
            let concernsCredentials = error.problem?.concernsCredentials == true || error.isOfSignature
            // Credentials that may not list may still read.
            if error.kind == .accessDenied, !concernsCredentials { return nil }
            let mistakes: Set<StoreError.Kind> = [.noSuchBucket, .noCredentials, .accessDenied, .refused]
            return ObjectRootProblem(error, of: name, "use the bucket", isMistake: mistakes.contains(error.kind))
        }
    }

    /// What the user can do about `error` of a job.
    func hint(_ error: StoreError) -> String? {
        guard error.kind == .accessDenied, !error.isOfSignature, error.problem?.concernsCredentials != true else {
            return error.hint
        }
        let objects = "arn:aws:s3:::\(address.bucket)/\(address.prefix)*"
        return """
            allow the credentials s3:GetObject on \(objects); without s3:ListBucket, a store answers like this for missing \
            objects, too
            """
    }
}

extension StoreError {
    /// Whether the store has found that the key and the secret do not belong together.
    fileprivate var isOfSignature: Bool { problem?.code == "SignatureDoesNotMatch" }
}
