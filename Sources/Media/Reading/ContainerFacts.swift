/// A container's length and priming for one track, where libav 5.1 reads them wrong, rounded or not at all.
struct ContainerFacts {
    /// Priming frames that libav does not drop.
    var primingFrames: Int?
    /// Priming frames that libav drops.
    var droppedFrames: Int?
    /// Padding frames after the sound.
    var paddingFrames: Int?
    /// Frames of sound between priming and padding.
    var soundFrames: Int64?
    /// How far `soundFrames` may exceed the true length without a loss.
    var tolerance: Int64 = 0
    /// Whether to cut the sound at `soundFrames`, whatever libav says about the packets.
    var isCutAtLength = false
    /// Whether only the packets show where the sound ends. The sound is then not cut at `soundFrames`.
    var endsWithItsPackets = false
    /// Whether the stream may be longer than its start shows.
    var isOpenEnded = false
    /// Whether the source is an excerpt of a longer stream. The totals in the codec's header then do not apply.
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

    /// The header of CAF's packet table. libav adds priming and remainder to the valid frames instead of dropping them.
    private static func cafPacketTable(_ source: ByteSource) -> ContainerFacts? {
        guard let place = chunk("pakt", in: source, from: 8, sizeBytes: 8, bigEndian: true)?.place,
            let table = source.bytes(at: place, count: 24), table.count == 24
        else { return nil }
        let valid = bigEndian(table[8..<16])
        let priming = Int(bigEndian(table[16..<20]))
        guard valid > 0, priming < 1 << 20 else { return nil }
        // Some writers, libav among them, count the last packet as a full packet.
        let padding = Int(bigEndian(table[20..<24]))
        return ContainerFacts(primingFrames: priming, paddingFrames: padding, soundFrames: valid, tolerance: 4096)
    }

    /// A Vorbis file with a single page of sound, which is also the last page. Its first packet gives no sound, but
    /// libav counts it as sound and cuts the same amount off the end.
    private static func oggVorbisPage(_ demuxer: Demuxer) -> ContainerFacts? {
        let streams = demuxer.streams.filter { !$0.isCover }
        guard streams.count == 1, streams[0].codecName == "vorbis",
            let frames = SourceEnd.granuleOfOnlyOggPage(demuxer.source)
        else { return nil }
        return ContainerFacts(soundFrames: frames, isCutAtLength: true)
    }

    /// FLAC also states its length in its own header. If no page is marked as the last, only that length
    /// distinguishes a truncated stream from one that is still being written.
    private static func oggFLACHeader(_ demuxer: Demuxer, _ stream: InputStream) -> ContainerFacts? {
        guard demuxer.streams.count == 1, stream.codecName == "flac", let total = stream.flacTotalFrames,
            let last = SourceEnd(ofOgg: demuxer.source).lastPage, !last.endsStream, total > last.granule
        else { return nil }
        return ContainerFacts(soundFrames: total)
    }

    /// A stream whose first page does not begin at zero, as in recordings of broadcasts. libav subtracts the start
    /// from the length for Vorbis, but not for other codecs.
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

    /// Length from the size of the data chunk, which begins with a four-byte edit count. The size is -1 while the
    /// file is being written.
    private static func cafDataSize(_ source: ByteSource, _ stream: InputStream) -> ContainerFacts? {
        guard let size = chunk("data", in: source, from: 8, sizeBytes: 8, bigEndian: true)?.size, size > 4,
            stream.blockAlign > 0
        else { return nil }
        return ContainerFacts(soundFrames: (size - 4) / Int64(stream.blockAlign))
    }

    /// W64 chunks have 16-byte names. Their size includes the chunk header, and they are aligned to eight bytes.
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

    /// DSF states one-bit samples per channel. libav makes one frame of eight of them.
    private static func dsfSampleCount(_ source: ByteSource) -> ContainerFacts? {
        guard let bytes = source.bytes(at: 64, count: 8), bytes.count == 8 else { return nil }
        let samples = bigEndian(bytes.reversed())
        return samples > 0 ? ContainerFacts(soundFrames: samples / 8) : nil
    }

    /// Length from the bytes of DSDIFF's sound. A byte holds eight samples of one channel, one frame to libav.
    private static func dsdiffDataSize(_ source: ByteSource, _ stream: InputStream) -> ContainerFacts? {
        guard stream.codecName.hasPrefix("dsd_"), stream.channelCount > 0,
            let size = chunk("DSD ", in: source, from: 16, sizeBytes: 8, bigEndian: true, isEven: true)?.size, size > 0
        else { return nil }
        return ContainerFacts(soundFrames: size / Int64(stream.channelCount))
    }

    /// SoX states the samples of all channels together; its magic number shows the byte order. libav ignores the
    /// field and computes its own count from the file size.
    private static func soxSampleCount(_ source: ByteSource, _ stream: InputStream) -> ContainerFacts? {
        guard let head = source.bytes(at: 0, count: 16), head.count == 16, stream.channelCount > 0 else { return nil }
        let samples = bigEndian(head[0] == 0x2E ? head[8..<16].reversed() : Array(head[8..<16]))
        guard samples > 0 else { return nil }
        return ContainerFacts(soundFrames: samples / Int64(stream.channelCount))
    }

    /// The first packet of Musepack SV8 states the total samples and the silent samples at the start. libav honours
    /// neither, nor the decoder delay of 481 frames that every Musepack decoder has.
    private static func musepackHeader(_ source: ByteSource) -> ContainerFacts? {
        guard let bytes = source.bytes(at: 0, count: 64), bytes.count == 64,
            bytes.starts(with: Array("MPCKSH".utf8))
        else { return nil }
        var place = 6
        /// A variable-length number: seven bits per byte, and the top bit says that another byte follows.
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
        // A checksum and a version lie in between.
        place += 5
        let (samples, silence) = (number(), number())
        guard samples > silence, silence < 1 << 20 else { return nil }
        return ContainerFacts(primingFrames: 481 + Int(silence), soundFrames: samples - silence)
    }

    /// The length that the header claims. libav trusts the file size instead, so it does not notice a truncated file.
    private static func waveDataSize(_ demuxer: Demuxer) -> ContainerFacts? {
        guard let stream = demuxer.streams.first(where: \.isAudio), stream.isPCM, stream.blockAlign > 0,
            var size = chunk("data", in: demuxer.source, from: 12, sizeBytes: 4, bigEndian: false)?.size
        else { return nil }
        // Zero and all ones mean that the size was not known when the header was written.
        if size == 0 || size >= 0xFFFF_FFFF - 1 {
            guard let wide = chunk("ds64", in: demuxer.source, from: 12, sizeBytes: 4, bigEndian: false)?.place,
                let sizes = demuxer.source.bytes(at: wide, count: 16), sizes.count == 16
            else { return nil }
            size = bigEndian(sizes[8..<16].reversed())
        }
        guard size > 0 else { return nil }
        return ContainerFacts(soundFrames: size / Int64(stream.blockAlign))
    }

    /// Walks the chunks of a RIFF, CAF or DSDIFF file up to the first with this name.
    private static func chunk(
        _ name: String,
        in source: ByteSource,
        from start: Int64,
        sizeBytes: Int,
        bigEndian isBig: Bool,
        isEven: Bool = false
    ) -> (place: Int64, size: Int64)? {
        var place = start
        // Such files have a dozen chunks. A file with more than a thousand was made to waste time.
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
