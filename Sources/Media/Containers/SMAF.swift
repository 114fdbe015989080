/// SMAF, Yamaha's format of ring tones.
struct SMAF: SourceRules {
    func isCut(_ source: ByteSource, _ stream: InputStream) -> Bool { Chunks.iff.areCut(source) }
}
