import CCrypto

/// SHA-1, for names that other programs make with it. It protects nothing.
package enum SHA1Digest {
    /// The 20 bytes of the digest of a message.
    package static func of(_ message: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
            var length: UInt32 = 0
            let result = EVP_Digest(message, message.count, buffer.baseAddress, &length, EVP_sha1(), nil)
            // It fails only if the library lacks SHA-1 or memory, and no digest is better than a wrong one.
            precondition(result == 1, "libcrypto has SHA-1")
            count = Int(length)
        }
    }
}
