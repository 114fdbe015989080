/// The name that the AAC encoder libfaac leaves in the first packet it writes, and in no other.
///
/// Its files say nothing else of their priming, and players go by the name: libav drops a packet's frames where it finds
/// it, in whatever packet that is.
enum FAACMark {
    /// Frames that the encoder puts before the sound.
    static let priming = 1024
    /// Bytes in which the name shows, the header of an ADTS frame included.
    static let reach = 9 + 4 + name.count

    private static let name = Array("libfaac ".utf8)

    /// Whether a packet, with the header of ADTS or without, begins with the name.
    static func begins(_ bytes: some Collection<UInt8>) -> Bool {
        var bytes = Array(bytes.prefix(reach))
        if bytes.count >= 9, bytes[0] == 0xFF, bytes[1] & 0xF6 == 0xF0 { bytes.removeFirst(bytes[1] & 1 == 1 ? 7 : 9) }
        // A fill element: three bits say so, four or twelve how long it is, and seventeen stand before the text.
        guard let first = bytes.first, first >> 5 == 6 else { return false }
        return bytes.dropFirst(first >> 1 & 15 == 15 ? 4 : 3).starts(with: name)
    }
}
