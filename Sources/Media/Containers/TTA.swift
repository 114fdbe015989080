/// TTA, whose header counts the frames.
struct TTA: SourceRules {
    func length(_ stated: StatedLength, of stream: InputStream, in demuxer: Demuxer) -> LengthPromise {
        .counted(stated)
    }
}
