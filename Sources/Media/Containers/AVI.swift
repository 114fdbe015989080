/// AVI, of which only the sound is read.
struct AVI: SourceRules {
    func capTags(_ cap: inout TagCap, from start: Int64) { cap.capChunks(.riff) }

    func isCut(_ source: ByteSource, _ stream: InputStream) -> Bool { Chunks.riff.areCut(source) }
}
