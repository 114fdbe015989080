/// Length and priming of Ogg streams that libav reads wrong.
enum OggFacts {
    /// A Vorbis file with a single page of sound, which is also the last page. Its first packet gives no sound, but
    /// libav counts it as sound and cuts the same amount off the end.
    static func onlyVorbisPage(_ demuxer: Demuxer) -> ContainerFacts? {
        let streams = demuxer.streams.filter { !$0.isCover }
        guard streams.count == 1, streams[0].codec.packets.firstFillsWindow,
            let frames = OggEnd.granuleOfOnlyPage(demuxer.source)
        else { return nil }
        return ContainerFacts(soundFrames: frames, isCutAtLength: true)
    }

    /// FLAC also states its length in its own header. If no page is marked as the last, only that length
    /// distinguishes a truncated stream from one that is still being written.
    static func flacHeader(_ demuxer: Demuxer, _ stream: InputStream) -> ContainerFacts? {
        guard demuxer.streams.count == 1, let total = stream.codec.totalFrames(of: stream),
            let last = OggEnd(of: demuxer.source).lastPage, !last.endsStream, total > last.granule
        else { return nil }
        return ContainerFacts(soundFrames: total)
    }

    /// A stream whose first page does not begin at zero, as in recordings of broadcasts: see `OggStart`.
    static func excerpt(_ demuxer: Demuxer, _ stream: InputStream) -> ContainerFacts? {
        let codec = stream.codec
        guard demuxer.streams.count == 1,
            let start = OggPages(demuxer.source).startOfSound(PacketLength(stream), stream),
            start.frame > 0 || codec.startInOgg == .belowZero
        else { return nil }
        let end = OggEnd(of: demuxer.source).lastPage
        let last = end?.serial == start.serial ? end : nil
        if codec.startInOgg == .belowZero {
            // libav drops neither the look-ahead nor the padding. Of a pipe, the last page comes too late.
            let priming = Int(max(0, -start.frame))
            guard let last, last.endsStream else { return ContainerFacts(primingFrames: priming, isOpenEnded: true) }
            let sound = last.granule - max(0, start.frame)
            return ContainerFacts(primingFrames: priming, soundFrames: sound, isCutAtLength: true)
        }
        guard codec.startInOgg != .subtracted, let last else {
            return ContainerFacts(isOpenEnded: codec.startInOgg != .subtracted, isExcerpt: true)
        }
        let preSkip = Int64(codec.preSkip(of: stream) ?? 0)
        let sound = last.granule - start.frame - preSkip
        guard sound > 0 else { return ContainerFacts(isOpenEnded: true, isExcerpt: true) }
        return ContainerFacts(
            soundFrames: sound,
            tolerance: last.endsStream ? 0 : Int64(stream.sampleRateHz),
            isExcerpt: true
        )
    }
}
