/// The tags around a stream of frames, beside the one that is read.
extension UnreadParts {
    /// Adds the tags at both ends, apart from an ID3v2 tag at the very start. `keepsAPE` is set if an APE tag at the end is
    /// read, too.
    mutating func addTagBlocks(in source: ByteSource, _ size: Int64, keepsAPE: Bool = false) {
        var hasAPE = !keepsAPE
        TagBlocks.each(in: source, size: size) { kind, place in
            switch kind {
            case .id3v2: if place > 0 { add("second ID3 tag") }
            case .ape:
                if hasAPE { add("APE tag") }
                hasAPE = true
            case .lyrics: add("Lyrics3 tag")
            // Its fields are tags of the source.
            case .id3v1: break
            }
        }
    }
}
