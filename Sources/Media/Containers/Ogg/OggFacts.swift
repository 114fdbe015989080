/// Length and priming of Ogg streams that libav reads wrong.
enum OggFacts {
    /// A Vorbis file with a single page of sound, which is also the last page. Its first packet gives no sound, but
    /// libav counts it as sound and cuts the same amount off the end.
    static func onlyVorbisPage(_ demuxer: Demuxer) -> ContainerFacts? {
        let streams = demuxer.streams.filter { !$0.isCover }
        guard streams.count == 1, streams[0].codecName == "vorbis",
            let frames = OggEnd.granuleOfOnlyPage(demuxer.source)
        else { return nil }
        return ContainerFacts(soundFrames: frames, isCutAtLength: true)
    }

    /// FLAC also states its length in its own header. If no page is marked as the last, only that length
    /// distinguishes a truncated stream from one that is still being written.
    static func flacHeader(_ demuxer: Demuxer, _ stream: InputStream) -> ContainerFacts? {
        guard demuxer.streams.count == 1, stream.codecName == "flac", let total = stream.flacTotalFrames,
            let last = OggEnd(of: demuxer.source).lastPage, !last.endsStream, total > last.granule
        else { return nil }
        return ContainerFacts(soundFrames: total)
    }

    /// A stream whose first page does not begin at zero, as in recordings of broadcasts. libav subtracts the start
    /// from the length for Vorbis, but not for other codecs.
    static func excerpt(_ demuxer: Demuxer, _ stream: InputStream) -> ContainerFacts? {
        guard demuxer.streams.count == 1, let pages = OggPages(demuxer.source),
            let start = pages.startOfSound(PacketLength(stream), stream),
            start.frame > 0 || stream.codecName == "speex"
        else { return nil }
        let last = OggEnd(of: demuxer.source).lastPage
        guard stream.codecName != "vorbis", let last, last.serial == start.serial else {
            return ContainerFacts(isOpenEnded: stream.codecName != "vorbis", isExcerpt: true)
        }
        if stream.codecName == "speex" {
            // Speex starts below zero, by its encoder's look-ahead. libav drops neither that nor the padding.
            let priming = Int(max(0, -start.frame))
            guard last.endsStream else { return ContainerFacts(primingFrames: priming, isOpenEnded: true) }
            let sound = last.granule - max(0, start.frame)
            return ContainerFacts(primingFrames: priming, soundFrames: sound, isCutAtLength: true)
        }
        let preSkip = stream.codecName == "opus" ? Int64(stream.opusPreSkip) : 0
        let sound = last.granule - start.frame - preSkip
        guard sound > 0 else { return ContainerFacts(isOpenEnded: true, isExcerpt: true) }
        return ContainerFacts(
            soundFrames: sound,
            tolerance: last.endsStream ? 0 : Int64(stream.sampleRateHz),
            isExcerpt: true
        )
    }
}
