extension VorbisComments {
    /// The comment block of a FLAC file; `nil` if it has none.
    static func inFLAC(_ source: ByteSource, _ size: Int64) -> SplicedBytes? {
        guard let block = FLACBlocks.first(FLACBlocks.comments, in: source, size) else { return nil }
        return SplicedBytes(source, [block.clamped(to: 0..<size)])
    }
}
