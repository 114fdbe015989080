import CLibAV
import Conversion
import Glibc

/// An open container that yields packets from one byte source. libav can open nothing else through it.
final class Demuxer {
    let source: ByteSource
    private(set) var context: UnsafeMutablePointer<AVFormatContext>?
    /// Set for streams of bare codec frames; it splits them into packets in libav's place.
    private(set) var framed: FramedPackets?
    /// The speakers of streams whose speakers libav may name wrong; by stream index.
    private(set) var speakers: [Int: SpeakerOrder] = [:]
    /// Readers for streams with long sample tables, of which libav saw only the ends; by stream index.
    private(set) var walks: [Int: SampleWalk] = [:]
    private let stop: StopSignal
    /// Set for a stream whose packets may hold several frames.
    private var splitter: PacketSplitter?
    /// How far the sound reaches; `nil` if the container counts no bytes.
    private(set) var extent: SoundExtent?
    /// Whether some of the file's tags or chapters were hidden from libav.
    let hidesTags: Bool
    /// A packet that opening read ahead to identify the stream; `read` returns it first.
    private var first: Packet
    private var holdsFirst = false

    /// Recognises and opens the container in `source`, and describes its audio streams. Other streams are discarded.
    init(_ source: ByteSource, _ reading: Reader.Options) throws {
        LibAVLog.capture()
        LibAVLog.forget()
        _ = Demuxer.allocationLimit
        self.source = source
        source.openUntil = reading.openSeconds.map { ThreadClock.cpu() + .seconds($0) }
        first = try Packet()
        self.stop = source.stop
        let format =
            try reading.raw.map { try Demuxer.find($0.demuxerName) }
            ?? Demuxer.recognise(source, nameHint: reading.nameHint)
        name = String(cString: format.pointee.name)
        rules = ContainerRegistry.rules(demuxer: name)
        rules.follow(source)
        extent = reading.raw == nil ? SoundExtent(source, rules, ignoringCount: reading.ignoresCount) : nil
        let cap = reading.raw == nil ? try TagCap(source, rules, container: name) : nil
        hidesTags = cap != nil
        let restated = reading.raw == nil ? try rules.headerPatches(in: source) : []
        let patches = restated + (extent?.patches ?? []) + (cap?.patches ?? [])
        if !patches.isEmpty { source.alwaysShow(patches) }
        if rules.opening.readsStartTwice { source.beginReplay() }
        context = try openShowingLittle(format, reading) ?? Demuxer.open(format, rules, source, reading)
        discardAllButAudio(sparesUnknown: true)
        if rules.opening.needsFirstPacket { readFirstPacket() }
        try nameSpeakers()
        if let width = rules.pcmWidth(in: source) { for stream in streams { try width.correct(stream) } }
        if !allAudioIsDescribed {
            let result = avformat_find_stream_info(context, nil)
            if source.isOverTime { throw Demuxer.overTime(name) }
            if result < 0 {
                let error = LibAVError.ofSource("avformat_find_stream_info", result)
                let detail = "the streams of this \(name) file cannot be analysed"
                throw MediaError(error, source.failure == nil ? .unreadableContainer : .sourceIO, at: .probe, detail)
            }
            if source.isOverBudget { throw Demuxer.overBudget(.invalid("avformat_find_stream_info"), source, name) }
            discardAllButAudio(sparesUnknown: false)
            // libav has named those of the first packet.
            try nameSpeakers()
        }
        source.endReplay()
        if reading.raw == nil, let syntax = rules.frameSyntax, streams.first?.isAudio == true {
            framed = FramedPackets(source, streams[0], syntax)
        }
        if source.isOverTime { throw Demuxer.overTime(name) }
        if rules.movie != nil,
            streams.contains(where: { $0.isAudio && source.hasPassed($0.indexEntry(0)?.place) })
        {
            throw Demuxer.indexBehind(name)
        }
        if Int(context!.pointee.nb_streams) > Demuxer.mostStreams { throw Demuxer.tooManyStreams(name) }
        try refuseHugeMetadata()
        if extent == nil, reading.raw == nil, !source.isSeekable { extent = SoundExtent(behindHeaderOf: source, rules) }
        source.isOpen = true
        stop.noteOpened()
    }

    deinit { avformat_close_input(&context) }

    // MARK: Opening

    private func nameSpeakers() throws {
        for stream in streams where stream.isAudio && stream.codec.leavesSpeakersToContainer {
            guard let order = rules.speakers(of: stream, in: source) else { continue }
            try stream.setChannels(order.channelCount, mask: order.mask)
            speakers[stream.index] = order
        }
    }

    /// Opens the container with libav, which may open no other file, protocol or decoder.
    private static func open(
        _ format: UnsafePointer<AVInputFormat>,
        _ rules: any SourceRules,
        _ source: ByteSource,
        _ reading: Reader.Options
    ) throws -> UnsafeMutablePointer<AVFormatContext> {
        let name = String(cString: format.pointee.name)
        let telling = rules.packetsThatTellTheCodec(in: source)
        let takesSmallPacket = rules.opening.needsFirstPacket && telling == 1
        var options = Options(Demuxer.options(reading.raw, takesSmallPacket: takesSmallPacket))

        guard let fresh = avformat_alloc_context() else {
            throw MediaError(.outOfMemory, at: .open, "no memory for the container")
        }
        fresh.pointee.pb = source.context
        fresh.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
        fresh.pointee.io_open = { _, _, _, _, _ in -EPERM }
        fresh.pointee.protocol_whitelist = av_strdup("none")
        fresh.pointee.format_whitelist = av_strdup(Allowlist.demuxerList)
        fresh.pointee.codec_whitelist = av_strdup(Allowlist.decoderList)
        // Higher than our own limit, because beyond it some demuxers skip streams silently and others report a lack
        // of memory.
        fresh.pointee.max_streams = Int32(4 * Demuxer.mostStreams)
        fresh.pointee.probesize = 5 << 20
        // By default libav indexes the offset of every packet it reads, up to a megabyte; nothing here looks those up.
        fresh.pointee.max_index_size = 64 << 10
        fresh.pointee.max_probe_packets = Int32(telling)
        // Later frames of a bare stream may have another rate.
        if !rules.opening.statesTimes { fresh.pointee.max_ts_probe = 2 }
        fresh.pointee.error_recognition = AV_EF_CRCCHECK
        fresh.pointee.interrupt_callback = AVIOInterruptCB(
            callback: { opaque in
                Unmanaged<StopSignal>.fromOpaque(opaque!).takeUnretainedValue().isStopped ? 1 : 0
            },
            opaque: Unmanaged.passUnretained(source.stop).toOpaque()
        )
        var context: UnsafeMutablePointer<AVFormatContext>? = fresh
        // avformat_open_input frees the context when it fails, and sets the pointer to nil.
        let result = avformat_open_input(&context, "", format, &options.pointer)
        if result < 0 {
            throw Demuxer.openFailure(.ofSource("avformat_open_input", result), rules, source, name)
        }
        return context!
    }

    /// Opens a container while hiding most of the sample tables of long tracks from libav;
    /// `walks` then reads them instead.
    ///
    /// Returns `nil` if libav must see the whole file.
    private func openShowingLittle(
        _ format: UnsafePointer<AVInputFormat>,
        _ reading: Reader.Options
    ) throws -> UnsafeMutablePointer<AVFormatContext>? {
        // `try?`: a read error comes up again when libav reads the source.
        guard let movie = try? rules.movie?.plainMovie(in: source, reading.sampleTables) else { return nil }
        let progress = source.progress
        source.show(movie.patches)
        do {
            var context: UnsafeMutablePointer<AVFormatContext>? = try Demuxer.open(format, rules, source, reading)
            if walk(movie, in: context!, reading.sampleTables) {
                // From here on libav reads samples, which may lie anywhere in the file.
                source.show([])
                return context
            }
            avformat_close_input(&context)
        } catch let error as MediaError where error.code != .cancelled {
            // Let libav report what is wrong with the file: it now sees all of it.
        }
        walks = [:]
        LibAVLog.forget()
        source.startOver(from: progress)
        return nil
    }

    /// Sets up a `SampleWalk` for each shortened track. `false` if libav's index of a track's ends might differ
    /// from its index of the whole track.
    private func walk(
        _ movie: PlainMovie,
        in context: UnsafeMutablePointer<AVFormatContext>,
        _ rules: SampleTableRules
    ) -> Bool {
        let streams = (0..<Int(context.pointee.nb_streams)).map { InputStream(pointer: context.pointee.streams[$0]!) }
        for standIn in movie.standIns {
            // `try?`: as above, a read error comes up again.
            guard let stream = streams.first(where: { Int64($0.containerID) == standIn.trackID }),
                let walk = try? SampleWalk(standIn, stream, rules)
            else { return false }
            walks[stream.index] = walk
        }
        return true
    }

    /// The most bytes of text in all tags and titles: hundreds of times what songs have. Covers are not counted.
    static let mostTagBytes = 16 << 20
    static let mostCoverBytes = Picture.mostBytes

    private func refuseHugeMetadata() throws {
        var bytes = 0
        func count(_ dictionary: OpaquePointer?) {
            var entry: UnsafeMutablePointer<AVDictionaryEntry>?
            while let next = av_dict_get(dictionary, "", entry, AV_DICT_IGNORE_SUFFIX) {
                bytes += strlen(next.pointee.key) + strlen(next.pointee.value)
                entry = next
            }
        }
        count(context!.pointee.metadata)
        for stream in streams {
            count(stream.pointer.pointee.metadata)
            guard stream.pointer.pointee.attached_pic.size > Self.mostCoverBytes else { continue }
            throw Demuxer.hugeMetadata(
                "a cover of \(Plural.count(stream.pointer.pointee.attached_pic.size, "byte"))",
                name
            )
        }
        for index in 0..<Int(context!.pointee.nb_chapters) { count(context!.pointee.chapters[index]!.pointee.metadata) }
        if bytes > Self.mostTagBytes { throw Demuxer.hugeMetadata("\(Plural.count(bytes, "byte")) of tags", name) }
    }

    /// Limits a single libav allocation to 1 GiB: a header of a few bytes can claim tables of gigabytes.
    private static let allocationLimit: Void = av_max_alloc(1 << 30)

    /// The number of streams above which a file is suspicious.
    static let streamLimit: Int32 = 256

    /// libav's name for the container format; it lists several if libav cannot tell them apart before opening.
    let name: String
    /// What is special about this container.
    let rules: any SourceRules

    /// The first of the names.
    var shortName: String { String(name.prefix { $0 != "," }) }

    var streams: [InputStream] {
        (0..<Int(context!.pointee.nb_streams)).map { InputStream(pointer: context!.pointee.streams[$0]!) }
    }

    var tags: [(String, String)] { pairs(of: context!.pointee.metadata) }

    /// The length that the container states; `nil` if it states none and libav only estimates one from the bit rate.
    var durationMicroseconds: Int64? {
        if context!.pointee.duration_estimation_method == AVFMT_DURATION_FROM_BITRATE { return nil }
        return Plausible.ticks(context!.pointee.duration)
    }

    /// Discards the packets of all other streams from now on.
    func select(_ index: Int) {
        splitter = PacketSplitter.of(streams[index])
        for stream in streams {
            stream.pointer.pointee.discard = stream.index == index ? AVDISCARD_DEFAULT : AVDISCARD_ALL
        }
    }

    /// Fills `packet` with the next one of the selected stream. Returns `false` at the end of the source.
    func read(into packet: inout Packet, of stream: Int) throws -> Bool {
        if try splitter?.next(into: &packet) == true { return true }
        guard try readPacket(into: &packet, of: stream) else { return false }
        try splitter?.split(&packet)
        return true
    }

    /// The same for packets as libav gives them.
    private func readPacket(into packet: inout Packet, of stream: Int) throws -> Bool {
        if let framed {
            let isThere = try framed.read(into: &packet)
            if stop.isStopped { throw LibAVError("read", SLUICE_AVERROR_EXIT) }
            if let failure = source.failure { throw LibAVError("read", -failure) }
            return isThere
        }
        if holdsFirst {
            holdsFirst = false
            packet.take(&first)
            if packet.streamIndex == stream { return true }
        }
        let walk = walks[stream]
        while walk?.isUnderWay != true {
            packet.clear()
            let result = av_read_frame(context, packet.pointer)
            if result == SLUICE_AVERROR_EOF {
                if try readBeyond(&packet, of: stream) { return true }
                walk?.noteMissing()
                return try isEnd()
            }
            if result == -EAGAIN { continue }
            try checkSource(result, "av_read_frame")
            if packet.streamIndex == stream, walk?.noteGiven(packet) != false { return true }
        }
        return try walk!.read(into: &packet, from: PlacedPackets(context!.pointee.pb)) || isEnd()
    }

    /// Reads PCM behind what libav takes for its end, because no number of the header can express it.
    private func readBeyond(_ packet: inout Packet, of index: Int) throws -> Bool {
        guard let end = extent?.restatedEnd, let pb = context!.pointee.pb, !source.isExhausted else { return false }
        let (stream, place) = (streams[index], avio_seek(pb, 0, SEEK_CUR))
        guard stream.isPCM, stream.blockAlign > 0, place >= 0, place < end else { return false }
        let most = max(1, 16_384 / stream.blockAlign) * stream.blockAlign
        switch PlacedPackets(pb).read(&packet, at: place, Int32(min(Int64(most), end - place))).answer {
        case .filled:
            packet.setOrigin(stream: index, place: place)
            return packet.byteCount >= stream.blockAlign
        case .ended: return false
        case .failed(let error): throw error
        }
    }

    /// Returns `false`, or throws the I/O error or the stop that libav reported as the end of the file.
    private func isEnd() throws -> Bool {
        if let failure = source.failure { throw LibAVError("read", -failure) }
        if stop.isStopped { throw LibAVError("av_read_frame", SLUICE_AVERROR_EXIT) }
        return false
    }

    /// Seeks to the last indexed position at or before `timestamp`, in the stream's time base.
    func seek(_ stream: Int, to timestamp: Int64) throws {
        holdsFirst = false
        splitter?.forget()
        if let walk = walks[stream] { return try walk.seek(to: timestamp) }
        try checkSource(av_seek_frame(context, Int32(stream), timestamp, AVSEEK_FLAG_BACKWARD), "av_seek_frame")
    }

    /// Like `InputStream.indexedTime`, and also works for streams whose index libav holds only in part.
    func indexedTime(of stream: InputStream, from first: Int64, upTo last: Int64, inStepsOf step: Int64?) throws
        -> Int64?
    {
        if let walk = walks[stream.index] { return try walk.indexedTime(from: first, upTo: last, inStepsOf: step) }
        return stream.indexedTime(from: first, upTo: last, inStepsOf: step)
    }

    /// Continues reading at a byte offset, for containers without any structure there.
    func seek(toByte place: Int64) throws {
        holdsFirst = false
        splitter?.forget()
        try check(avformat_flush(context), "avformat_flush")
        if avio_seek(context!.pointee.pb, place, SEEK_SET) < 0 { throw LibAVError("avio_seek", -EIO) }
    }

    /// Seeks to the place after the damaged data at `place` where reading can continue, and returns it.
    ///
    /// `nil` for containers after whose damage libav continues by itself, and if nothing follows.
    func resynchronise(behind place: Int64) -> Int64? {
        guard let pb = context!.pointee.pb, let next = rules.blocks?.nextStart(in: source, behind: place),
            avio_seek(pb, next, SEEK_SET) >= 0
        else { return nil }
        return next
    }

    /// Reads the first packet of a WAV file, from which libav decides whether its PCM is really PCM. Then requests
    /// larger packets than those that libav gives by itself, which are expensive for short clips.
    private func readFirstPacket() {
        // libav queues covers as packets ahead of the audio.
        repeat {
            first.clear()
            holdsFirst = av_read_frame(context, first.pointer) >= 0
        } while holdsFirst && !streams[first.streamIndex].isAudio
        av_opt_set_int(context!.pointee.priv_data, "max_size", 16_384, 0)
    }

    /// Whether libav estimated the length from the bit rate.
    var lengthIsGuessed: Bool { context!.pointee.duration_estimation_method == AVFMT_DURATION_FROM_BITRATE }

    /// Discards every stream that is not audio. `sparesUnknown` keeps unidentified streams, because probing their
    /// packets may still identify them.
    private func discardAllButAudio(sparesUnknown: Bool) {
        for stream in streams where !stream.isAudio {
            if sparesUnknown, stream.isUnknown || stream.isData && rules.opening.mayCallSoundData { continue }
            stream.pointer.pointee.discard = AVDISCARD_ALL
        }
    }

    /// Whether probing would add nothing. Skipping it halves the opening time of short files.
    private var allAudioIsDescribed: Bool {
        let all = streams
        return !all.isEmpty && context!.pointee.ctx_flags & AVFMTCTX_NOHEADER == 0
            && all.allSatisfy { !$0.isAudio || $0.isDescribedPCM }
    }
}

// MARK: Opening

extension Demuxer {
    static func find(_ name: String) throws -> UnsafePointer<AVInputFormat> {
        guard let format = av_find_input_format(name) else {
            throw MediaError(.unknownContainer, at: .open, "\(name) cannot be read")
        }
        if let withheld = Allowlist.withheld(demuxer: String(cString: format.pointee.name)) {
            throw MediaError.withheld(withheld, at: .open)
        }
        return format
    }

    private static func options(_ raw: RawShape?, takesSmallPacket: Bool) -> [(String, String)] {
        // libav 5.1 makes no smaller packets of WAV.
        if takesSmallPacket { return [("max_size", "1024")] }
        guard let raw else { return [] }
        return [("sample_rate", "\(raw.sampleRateHz)"), ("ch_layout", "\(raw.channelCount) channels")]
    }

    /// Covers count as streams; no legitimate file comes near this number.
    static let mostStreams = 256

    private static func hugeMetadata(_ what: String, _ name: String) -> MediaError {
        MediaError(.metadataTooLarge, at: .open, "the \(name) file has \(what)", hint: "remove the cover or the tags")
    }

    private static func overBudget(_ error: LibAVError, _ source: ByteSource, _ name: String) -> MediaError {
        // A tag at the front states its own length.
        if let size = source.size, case let end = TagBlocks.end(in: source, before: size), end > ByteSource.openingBytes
        {
            return hugeMetadata("\(Plural.count(end, "byte")) of tags before its sound", name)
        }
        return MediaError(
            error,
            .unreadableContainer,
            at: .open,
            "this looks like \(name), but the first \(ByteSource.openingBytes >> 20) MiB contain no sound"
        )
    }

    private static func openFailure(
        _ error: LibAVError,
        _ rules: any SourceRules,
        _ source: ByteSource,
        _ name: String
    ) -> MediaError {
        if let failure = source.failure {
            return MediaError(LibAVError("read", -failure), .sourceIO, at: .open, "the source cannot be read")
        }
        if source.isOverTime { return overTime(name) }
        if let mark = rules.protectionMark(in: source) {
            return MediaError(error, .protectedContent, at: .open, "the file is encrypted (\(mark))")
        }
        if error.lastWords?.contains("max_streams") == true { return tooManyStreams(name) }
        if source.isOverBudget, !source.isSeekable, rules.movie != nil { return indexBehind(name) }
        let lacksTable = error.lastWords?.contains("packet table") == true
        if lacksTable, !source.isSeekable { return indexBehind(name, hint: "read it from a file") }
        if !source.isSeekable, rules.describesSoundTooLate(source) {
            return MediaError(
                .sourceNotSeekable,
                at: .open,
                "this \(name) file describes its sound behind it, so it cannot be read from a pipe",
                hint: "read it from a file"
            )
        }
        if source.isOverBudget { return overBudget(error, source, name) }
        if !isRecognised(source, as: name) {
            return MediaError(error, .unknownContainer, at: .open, "only the file name suggests that this is \(name)")
        }
        return MediaError(error, .unreadableContainer, at: .open, "this looks like \(name), but cannot be opened")
    }

    static func overTime(_ name: String?) -> MediaError {
        let file = name.map { "this \($0) file" } ?? "the source"
        return MediaError(.openSecondsExceeded, at: .open, "opening \(file) exceeded its limit of CPU time")
    }

    private static func indexBehind(
        _ name: String,
        hint: String = "read it from a file, or write it with its index in front: ffmpeg -movflags +faststart"
    ) -> MediaError {
        MediaError(
            .sourceNotSeekable,
            at: .open,
            "this \(name.prefix { $0 != "," }) file has its index behind its sound, so it cannot be read from a pipe",
            hint: hint
        )
    }

    private static func tooManyStreams(_ name: String) -> MediaError {
        MediaError(.tooManyStreams, at: .open, "the \(name) file has more than \(mostStreams) streams")
    }
}

/// What headerless PCM does not state about itself.
public struct RawShape: Sendable, Hashable {
    /// libav's name for the sample coding: `s16le`, `f32be`, `mulaw`, `alaw`, `u8`, ...
    public var demuxerName: String
    public var sampleRateHz: Int
    public var channelCount: Int

    public init(demuxerName: String, sampleRateHz: Int, channelCount: Int) {
        self.demuxerName = demuxerName
        self.sampleRateHz = sampleRateHz
        self.channelCount = channelCount
    }
}

extension AVRational {
    /// The denominator; `nil` if `MediaTime` cannot hold it as a time scale.
    var timescale: Int32? { den > 0 && num > 0 ? den : nil }
}
