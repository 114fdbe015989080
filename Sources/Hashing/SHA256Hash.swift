import CCrypto

/// A SHA-256 computation in progress.
///
/// Uses libcrypto: libpq brings it into the process anyway, it is maintained, and it uses the processor's instructions
/// for SHA-256. The kernel's own hash (AF_ALG) is missing from many kernels and forbidden in many containers.
package struct SHA256Hash: ~Copyable {
    private let context: OpaquePointer

    package init() {
        guard let context = EVP_MD_CTX_new() else { preconditionFailure("no memory for a digest") }
        self.context = context
        precondition(EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1, "libcrypto has SHA-256")
    }

    deinit { EVP_MD_CTX_free(context) }

    package func add(_ bytes: UnsafeRawBufferPointer) {
        precondition(EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1, "adding bytes cannot fail")
    }

    /// The 32 bytes of the digest. Call it once.
    package func finish() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
            var length: UInt32 = 0
            precondition(EVP_DigestFinal_ex(context, buffer.baseAddress, &length) == 1, "a digest ends once")
            count = Int(length)
        }
    }

    /// The digest of a message.
    package static func digest(of message: [UInt8]) -> [UInt8] {
        let hash = SHA256Hash()
        message.withUnsafeBytes { hash.add($0) }
        return hash.finish()
    }

    /// The 32 bytes that prove to others with the same key who wrote a message: HMAC-SHA256.
    package static func authentication(of message: [UInt8], key: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
            var length: UInt32 = 0
            let result = HMAC(
                EVP_sha256(),
                key,
                Int32(key.count),
                message,
                message.count,
                buffer.baseAddress,
                &length
            )
            precondition(result != nil, "libcrypto has HMAC")
            count = Int(length)
        }
    }
}
