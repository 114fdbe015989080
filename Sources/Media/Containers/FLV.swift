/// FLV, of which only the sound is read.
struct FLV: SourceRules {
    func length(_ stated: StatedLength, of stream: InputStream, in demuxer: Demuxer) -> LengthPromise {
        .ofLongestTrack(in: demuxer, stream)
    }
}
