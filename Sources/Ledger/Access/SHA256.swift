/// The digest of a short message, for secrets that must not leave this process.
///
/// The server could compute it, but would then see the secret, and perhaps log it. Storage's digests are of files, and
/// no module imports Storage that Ledger may import.
enum SHA256 {
    /// The most bytes that fit into one block with their padding.
    static let longest = 55

    /// The digest of at most `longest` bytes.
    static func digest(ofShort message: [UInt8]) -> [UInt8] {
        // All callers pass a secret of 32 bytes, with a prefix of 4 at most.
        precondition(message.count <= longest, "the message needs more than one block")
        var block = message + [0x80]
        block += [UInt8](repeating: 0, count: 62 - block.count)
        block += [UInt8((message.count * 8) >> 8), UInt8((message.count * 8) & 255)]
        var words = stride(from: 0, to: 64, by: 4).map { start in
            block[start..<start + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        for place in 16..<64 {
            let (near, far) = (words[place - 2], words[place - 15])
            let first = rotated(far, 7) ^ rotated(far, 18) ^ far >> 3
            let second = rotated(near, 17) ^ rotated(near, 19) ^ near >> 10
            words.append(words[place - 16] &+ first &+ words[place - 7] &+ second)
        }
        var state = start
        for (word, constant) in zip(words, constants) {
            let (early, late) = (state[0], state[4])
            let mixed = rotated(late, 6) ^ rotated(late, 11) ^ rotated(late, 25)
            let choice = late & state[5] ^ ~late & state[6]
            let one = state[7] &+ mixed &+ choice &+ constant &+ word
            let other = rotated(early, 2) ^ rotated(early, 13) ^ rotated(early, 22)
            let majority = early & state[1] ^ early & state[2] ^ state[1] & state[2]
            state = [
                one &+ other &+ majority, state[0], state[1], state[2], state[3] &+ one, state[4], state[5], state[6],
            ]
        }
        return zip(start, state).flatMap { before, after in
            let sum = before &+ after
            return stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: sum >> UInt32($0)) }
        }
    }

    private static func rotated(_ word: UInt32, _ places: UInt32) -> UInt32 { word >> places | word << (32 - places) }

    // FIPS 180-4, 5.3.3 and 4.2.2.
    private static let start: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]
    private static let constants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ]
}
