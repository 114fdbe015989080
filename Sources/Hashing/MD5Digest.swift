import CCrypto

/// MD5, for the ETags of object stores. It protects nothing.
package enum MD5Digest {
    /// The 16 bytes of the digest of a message; `nil` if libcrypto refuses MD5, as it does in FIPS mode.
    package static func of(_ message: [UInt8]) -> [UInt8]? {
        var length: UInt32 = 0
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        guard EVP_Digest(message, message.count, &digest, &length, EVP_md5(), nil) == 1 else { return nil }
        return Array(digest.prefix(Int(length)))
    }
}
