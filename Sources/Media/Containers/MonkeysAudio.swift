/// Monkey's Audio (APE), whose header counts the frames.
struct MonkeysAudio: SourceRules {
    func length(_ stated: StatedLength, of stream: InputStream, in demuxer: Demuxer) -> LengthPromise {
        .counted(stated)
    }
}
