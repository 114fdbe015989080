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

    /// A stream whose first page does not begin at zero, as in recordings of broadcasts: see `OggStart`.
    static func excerpt(_ demuxer: Demuxer, _ stream: InputStream) -> ContainerFacts? {
        let (codec, pages) = (stream.codec, OggPages(demuxer.source))
        let rule = codec.startInOgg(of: stream)
        if let delay = rule.delay { return delayed(by: delay, pages, demuxer, stream) }
        guard demuxer.hasOneStream, let page = pages.firstOfSound(PacketLength(stream), stream), !page.endsStream,
            let start = page.start, start > 0
        else { return nil }
        let end = OggEnd(of: demuxer.source)
        guard case .counted = rule else { return ContainerFacts(isExcerpt: true) }
        guard let last = end.lastPage, end.belongs(toFirst: page.serial, in: demuxer.source) else {
            return ContainerFacts(isOpenEnded: true, isExcerpt: true)
        }
        let preSkip = Int64(codec.preSkip(of: stream) ?? 0)
        let sound = last.granule - start - preSkip
        guard sound > 0 else { return ContainerFacts(isOpenEnded: true, isExcerpt: true) }
        return ContainerFacts(
            soundFrames: sound,
            tolerance: last.endsStream ? 0 : Int64(stream.sampleRateHz),
            isExcerpt: true
        )
    }

    /// A stream of which libav drops neither the delay of the codec nor the padding.
    private static func delayed(by delay: CodecDelay, _ pages: OggPages, _ demuxer: Demuxer, _ stream: InputStream)
        -> ContainerFacts?
    {
        let serial = demuxer.hasOneStream ? nil : pages.serial(ofStream: stream.index)
        guard demuxer.hasOneStream || serial != nil,
            let first = pages.firstOfSound(PacketLength(stream), stream, serial: serial), let frames = first.frames
        else { return nil }
        // Pages may count in the frames that the header states.
        let stated = frames / Int64(delay.packetFrames) * Int64(delay.statedPacketFrames)
        let countsStated = abs(first.granule - stated) < abs(first.granule - frames)
        func sound(_ granule: Int64) -> Int64 {
            guard countsStated, delay.statedPacketFrames > 0 else { return granule }
            return Plausible.boundedFrames(
                granule.scaledSaturated(by: delay.packetFrames, over: delay.statedPacketFrames)
            )
        }
        if first.endsStream {
            // Nothing states where the look-ahead ends and the padding begins.
            let priming = min(max(0, frames - sound(first.granule)), Int64(delay.encoder)) + Int64(delay.decoder)
            return ContainerFacts(
                primingFrames: Int(priming),
                soundFrames: max(0, min(sound(first.granule), frames - priming)),
                isCutAtLength: true,
                hasFollowers: !demuxer.source.ends(at: first.end)
            )
        }
        let start = sound(first.granule) - frames
        let priming = Int(max(0, -start)) + delay.decoder
        let end = OggEnd(of: demuxer.source)
        guard let last = end.lastPage, last.endsStream, end.belongs(toFirst: first.serial, in: demuxer.source) else {
            return ContainerFacts(primingFrames: priming, isOpenEnded: true)
        }
        // With less padding than the decoder's delay, the end of the sound never leaves the decoder.
        var held: Int64 = 0
        let before = end.granuleBefore(in: demuxer.source)
        // Between pages of other streams, the last page alone does not tell.
        if before == nil, serial != nil { return ContainerFacts(primingFrames: priming, isOpenEnded: true) }
        if let before {
            let padding = Int64(end.lastPackets * delay.packetFrames) - (sound(last.granule) - sound(before))
            held = max(0, Int64(delay.decoder) - max(0, padding))
        }
        return ContainerFacts(
            primingFrames: priming,
            soundFrames: sound(last.granule) - max(0, start) - held,
            isCutAtLength: true
        )
    }

    /// FLAC also states its length in its own header. If no page is marked as the last, only that length
    /// distinguishes a truncated stream from one that is still being written.
    static func flacHeader(_ demuxer: Demuxer, _ stream: InputStream) -> ContainerFacts? {
        guard demuxer.hasOneStream, let total = stream.codec.totalFrames(of: stream),
            let last = OggEnd(of: demuxer.source).lastPage, !last.endsStream, total > last.granule
        else { return nil }
        return ContainerFacts(soundFrames: total)
    }
}
