/// QCP, the format of Qualcomm's speech codecs.
struct QCP: SourceRules {
    func isCut(_ source: ByteSource, _ stream: InputStream) -> Bool { Chunks.riff.areCut(source) }
}
