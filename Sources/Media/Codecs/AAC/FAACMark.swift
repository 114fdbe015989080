/// The name that the AAC encoder libfaac writes into its first packet, and into no other.
///
/// Its files state their priming in no other way, so players look for the name: libav drops the frames of any
/// packet that contains it.
enum FAACMark {
    /// Priming frames that the encoder puts before the sound.
    static let priming = 1024
    /// The number of leading bytes that can hold the name, an ADTS header included.
    static let reach = 9 + 4 + name.count

    private static let name = Array("libfaac ".utf8)

    /// Whether a packet begins with the name, after an ADTS header or without one.
    static func begins(_ bytes: some Collection<UInt8>) -> Bool {
        var bytes = Array(bytes.prefix(reach))
        if bytes.count >= 9, bytes[0] == 0xFF, bytes[1] & 0xF6 == 0xF0 { bytes.removeFirst(bytes[1] & 1 == 1 ? 7 : 9) }
        // A fill element: three bits of type, four or twelve bits of length, then seventeen bits before the text.
        guard let first = bytes.first, first >> 5 == 6 else { return false }
        return bytes.dropFirst(first >> 1 & 15 == 15 ? 4 : 3).starts(with: name)
    }
}
