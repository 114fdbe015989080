import FuzzedTexts
import Glibc
import TestSupport

/// The seed texts, and the tokens that the fuzzer combines.
enum TextSeeds {
    static func write(into folder: String, dictionary: String) throws {
        guard mkdir(folder, 0o755) == 0 || errno == EEXIST else { throw SupportError("create \(folder)", errno: errno) }
        for reader in FuzzedText.allCases {
            for (number, seed) in reader.seeds.enumerated() {
                try Bytes.write(reader.input(seed.utf8), to: "\(folder)/\(reader)-\(number)")
            }
        }
        let tokens = Set(FuzzedText.allCases.flatMap(\.tokens) + FuzzedText.commonTokens).sorted()
        let lines = tokens.filter { !$0.isEmpty }.map { "\"\(escaped($0))\"\n" }
        try Bytes.write(Array(lines.joined().utf8), to: dictionary)
    }

    /// A token in the syntax of libFuzzer's dictionaries: everything except ASCII letters and digits as
    /// hexadecimal escapes.
    private static func escaped(_ token: String) -> String {
        token.utf8.map { byte in
            if byte < 0x80, Character(Unicode.Scalar(byte)).isLetter || Character(Unicode.Scalar(byte)).isNumber {
                return String(Unicode.Scalar(byte))
            }
            let digits = String(byte, radix: 16, uppercase: true)
            return "\\x" + (digits.count == 1 ? "0" : "") + digits
        }.joined()
    }
}
