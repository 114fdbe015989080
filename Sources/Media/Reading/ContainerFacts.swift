/// What a container says of a track's length and priming where libav 5.1 reads it wrong, rounded or not at all.
struct ContainerFacts {
    /// Frames to drop before the sound, which libav does not drop by itself.
    var primingFrames: Int?
    /// Frames before the sound that libav does drop.
    var droppedFrames: Int?
    /// Frames of padding behind the sound.
    var paddingFrames: Int?
    /// Frames of sound between priming and padding.
    var soundFrames: Int64?
    /// By how much `soundFrames` may be too large without anything being lost.
    var tolerance: Int64 = 0
    /// Whether the sound is to be cut at that length, whatever libav says of the packets.
    var isCutAtLength = false
    /// Whether nothing but the packets tells where the sound ends: `soundFrames` is then no place to cut at.
    var endsWithItsPackets = false
    /// Whether more may follow than is known at the start.
    var isOpenEnded = false
    /// Whether the source was cut out of a longer stream: what the codec's header says of the whole is not true of it.
    var isExcerpt = false

    static func read(_ demuxer: Demuxer, _ stream: InputStream) -> ContainerFacts? {
        if demuxer.streamed != nil { return ContainerFacts(isOpenEnded: true) }
        return switch demuxer.name {
        case "mov,mp4,m4a,3gp,3g2,mj2": MP4Facts.read(demuxer, stream)
        case "caf": stream.isPCM ? cafDataSize(demuxer.source, stream) : cafPacketTable(demuxer.source)
        case "wav": waveDataSize(demuxer)
        case "w64": w64DataSize(demuxer.source, stream)
        case "dsf": dsfSampleCount(demuxer.source)
        case "sox": soxSampleCount(demuxer.source, stream)
        case "iff": dsdiffDataSize(demuxer.source, stream)
        case "mpc8": musepackHeader(demuxer.source)
        case "mp3", "aac", "ac3", "eac3": demuxer.framed?.header?.facts
        case "ogg": oggVorbisPage(demuxer) ?? oggExcerpt(demuxer, stream) ?? oggFLACHeader(demuxer, stream)
        default: nil
        }
    }

    /// The head of CAF's packet table: libav adds priming and remainder to the valid frames instead of dropping them.
    private static func cafPacketTable(_ source: ByteSource) -> ContainerFacts? {
        guard let place = chunk("pakt", in: source, from: 8, sizeBytes: 8, bigEndian: true)?.place,
            let table = source.bytes(at: place, count: 24), table.count == 24
        else { return nil }
        let valid = bigEndian(table[8..<16])
        let priming = Int(bigEndian(table[16..<20]))
        guard valid > 0, priming < 1 << 20 else { return nil }
        // Some writers, libav among them, count the last packet as a whole one.
        let padding = Int(bigEndian(table[20..<24]))
        return ContainerFacts(primingFrames: priming, paddingFrames: padding, soundFrames: valid, tolerance: 4096)
    }

    /// Vorbis whose only page of sound is the last one too: libav takes its first packet, which gives no sound, for sound
    /// and cuts as much off the end.
    private static func oggVorbisPage(_ demuxer: Demuxer) -> ContainerFacts? {
        let streams = demuxer.streams.filter { !$0.isCover }
        guard streams.count == 1, streams[0].codecName == "vorbis",
            let frames = SourceEnd.granuleOfOnlyOggPage(demuxer.source)
        else { return nil }
        return ContainerFacts(soundFrames: frames, isCutAtLength: true)
    }

    /// FLAC states its length in its own header as well. Without a page that is marked as the last, that is all that
    /// tells a stream that was cut off from one that is still being written.
    private static func oggFLACHeader(_ demuxer: Demuxer, _ stream: InputStream) -> ContainerFacts? {
        guard demuxer.streams.count == 1, stream.codecName == "flac", let total = stream.flacTotalFrames,
            let last = SourceEnd(ofOgg: demuxer.source).lastPage, !last.endsStream, total > last.granule
        else { return nil }
        return ContainerFacts(soundFrames: total)
    }

    /// A stream whose first page does not begin at zero, as recordings of broadcasts do. Of Vorbis libav takes the start
    /// off its length, of other codecs it does not.
    private static func oggExcerpt(_ demuxer: Demuxer, _ stream: InputStream) -> ContainerFacts? {
        guard demuxer.streams.count == 1, let pages = OggPages(demuxer.source),
            let start = pages.startOfSound(PacketLength(stream), stream),
            start.frame > 0 || stream.codecName == "speex"
        else { return nil }
        let last = SourceEnd(ofOgg: demuxer.source).lastPage
        guard stream.codecName != "vorbis", let last, last.serial == start.serial else {
            return ContainerFacts(isOpenEnded: stream.codecName != "vorbis", isExcerpt: true)
        }
        if stream.codecName == "speex" {
            // Speex begins below zero, by what its encoder looks ahead; libav drops neither that nor the padding.
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

    /// The size of the data chunk, which begins with an edit count of four bytes; -1 while it is being written.
    private static func cafDataSize(_ source: ByteSource, _ stream: InputStream) -> ContainerFacts? {
        guard let size = chunk("data", in: source, from: 8, sizeBytes: 8, bigEndian: true)?.size, size > 4,
            stream.blockAlign > 0
        else { return nil }
        return ContainerFacts(soundFrames: (size - 4) / Int64(stream.blockAlign))
    }

    /// The chunks of W64 are named by sixteen bytes and sized with their heads, eight to a step.
    private static func w64DataSize(_ source: ByteSource, _ stream: InputStream) -> ContainerFacts? {
        guard stream.isPCM, stream.blockAlign > 0 else { return nil }
        var place: Int64 = 40
        for _ in 0..<1000 {
            guard let head = source.bytes(at: place, count: 24), head.count == 24 else { return nil }
            let size = bigEndian(head[16..<24].reversed())
            guard size >= 24, size < 1 << 60 else { return nil }
            if head.starts(with: Array("data".utf8)) {
                return ContainerFacts(soundFrames: (size - 24) / Int64(stream.blockAlign))
            }
            place += (size + 7) / 8 * 8
        }
        return nil
    }

    /// The samples of one bit each in a channel, of which libav makes one frame for every eight.
    private static func dsfSampleCount(_ source: ByteSource) -> ContainerFacts? {
        guard let bytes = source.bytes(at: 64, count: 8), bytes.count == 8 else { return nil }
        let samples = bigEndian(bytes.reversed())
        return samples > 0 ? ContainerFacts(soundFrames: samples / 8) : nil
    }

    /// The bytes of DSDIFF's sound, eight samples each of one channel, of which libav makes one frame.
    private static func dsdiffDataSize(_ source: ByteSource, _ stream: InputStream) -> ContainerFacts? {
        guard stream.codecName.hasPrefix("dsd_"), stream.channelCount > 0,
            let size = chunk("DSD ", in: source, from: 16, sizeBytes: 8, bigEndian: true, isEven: true)?.size, size > 0
        else { return nil }
        return ContainerFacts(soundFrames: size / Int64(stream.channelCount))
    }

    /// The samples of all channels in a SoX file, whose magic number tells the byte order. libav makes its own count from
    /// the size of the file.
    private static func soxSampleCount(_ source: ByteSource, _ stream: InputStream) -> ContainerFacts? {
        guard let head = source.bytes(at: 0, count: 16), head.count == 16, stream.channelCount > 0 else { return nil }
        let samples = bigEndian(head[0] == 0x2E ? head[8..<16].reversed() : Array(head[8..<16]))
        guard samples > 0 else { return nil }
        return ContainerFacts(soundFrames: samples / Int64(stream.channelCount))
    }

    /// The first packet of Musepack SV8: samples in all, and those of silence at the start. libav honours neither, nor the
    /// 481 frames by which every decoder of it is late.
    private static func musepackHeader(_ source: ByteSource) -> ContainerFacts? {
        guard let bytes = source.bytes(at: 0, count: 64), bytes.count == 64,
            bytes.starts(with: Array("MPCKSH".utf8))
        else { return nil }
        var place = 6
        /// Seven bits a byte, the highest one saying that more follow.
        func number() -> Int64 {
            var value: Int64 = 0
            for _ in 0..<8 {
                value = value << 7 | Int64(bytes[place] & 0x7F)
                place += 1
                if bytes[place - 1] & 0x80 == 0 { break }
            }
            return value
        }
        _ = number()
        // A checksum and a version lie between.
        place += 5
        let (samples, silence) = (number(), number())
        guard samples > silence, silence < 1 << 20 else { return nil }
        return ContainerFacts(primingFrames: 481 + Int(silence), soundFrames: samples - silence)
    }

    /// The size that the header claims: libav believes the file's own size instead, so a cut file looks whole to it.
    private static func waveDataSize(_ demuxer: Demuxer) -> ContainerFacts? {
        guard let stream = demuxer.streams.first(where: \.isAudio), stream.isPCM, stream.blockAlign > 0,
            var size = chunk("data", in: demuxer.source, from: 12, sizeBytes: 4, bigEndian: false)?.size
        else { return nil }
        // Zero and all ones stand for a size that was not known when the header was written.
        if size == 0 || size >= 0xFFFF_FFFF - 1 {
            guard let wide = chunk("ds64", in: demuxer.source, from: 12, sizeBytes: 4, bigEndian: false)?.place,
                let sizes = demuxer.source.bytes(at: wide, count: 16), sizes.count == 16
            else { return nil }
            size = bigEndian(sizes[8..<16].reversed())
        }
        guard size > 0 else { return nil }
        return ContainerFacts(soundFrames: size / Int64(stream.blockAlign))
    }

    /// Walks the chunks of a RIFF, CAF or DSDIFF file up to the one of that name.
    private static func chunk(
        _ name: String,
        in source: ByteSource,
        from start: Int64,
        sizeBytes: Int,
        bigEndian isBig: Bool,
        isEven: Bool = false
    ) -> (place: Int64, size: Int64)? {
        var place = start
        // Such files have a dozen chunks; one with more than a thousand is out to waste time.
        for _ in 0..<1000 {
            guard let head = source.bytes(at: place, count: 4 + sizeBytes), head.count == 4 + sizeBytes else {
                return nil
            }
            let digits = Array(head[4...])
            let size = bigEndian(isBig ? digits : digits.reversed())
            let body = place + 4 + Int64(sizeBytes)
            if head.starts(with: Array(name.utf8)) { return (body, size) }
            guard size >= 0, body < Int64.max - size - 1 else { return nil }
            place = body + size + (isBig && !isEven ? 0 : size & 1)
        }
        return nil
    }
}
