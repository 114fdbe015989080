/// A header written before the length of the sound was known, by a program that wrote to a pipe or was killed. Its
/// sizes are placeholders, and the sound ends with the source.
struct StreamedHeader {
    /// Bytes of samples, up to the end of the source.
    let soundBytes: Int64
    /// The true sizes, in the places where libav must see them; empty if libav ignores the placeholders by itself.
    var patches: [SourcePatch] = []

    /// The header of `source`; `nil` if it states a length, and for pipes.
    static func read(_ source: ByteSource, _ rules: any SourceRules) -> StreamedHeader? {
        guard let size = source.size, size > 0, let found = rules.streamedHeader(of: source, size),
            found.soundBytes > 0
        else { return nil }
        return found
    }

    /// Whether a 32-bit size is a placeholder: zero, or one of the greatest numbers of 31 or 32 bits, possibly less
    /// a header or rounded to whole frames. SoX writes 0x7F000000 into AIFF.
    static func isPlaceholder(_ size: Int64) -> Bool {
        size == 0 || (0x7EFF_FF00...0x7F00_0100).contains(size) || (0x7FFF_EF00...0x8000_0100).contains(size)
            || (0xFFFF_EF00...0xFFFF_FFFF).contains(size)
    }

    /// The same for 64-bit sizes: zero, negative, or larger than any disk.
    static func isWidePlaceholder(_ size: Int64) -> Bool { size <= 0 || size >= 1 << 60 }
}
