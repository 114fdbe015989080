import CLibAV
import Conversion
import Glibc

/// An output container that is being written: packets in, one stream of bytes out.
final class Muxer {
    let sink: ByteSink
    private let rules: any OutputRules
    private let coverPlace: Container.CoverPlace
    private var context: UnsafeMutablePointer<AVFormatContext>?
    private var audio: UnsafeMutablePointer<AVStream>?
    /// The time base in which packets arrive.
    private var incoming = AVRational(num: 1, den: 1)
    /// Set if the tables of the samples are written here, because libav would keep them in memory.
    private var template: MP4Template?
    private var assembler: MP4Assembler?
    private var covers: [(stream: Int32, picture: Picture)] = []
    private var hasHeader = false

    /// Writes an output of `format` into `sink`.
    init(_ sink: ByteSink, _ format: ResolvedFormat) throws {
        LibAVLog.capture()
        LibAVLog.forget()
        self.sink = sink
        rules = format.rules
        coverPlace = format.container.coverPlace
        let name = rules.muxerName(format)
        try check(avformat_alloc_output_context2(&context, nil, name, nil), "avformat_alloc_output_context2")
        context!.pointee.pb = sink.context
        // BITEXACT fixes Ogg's serial number, and leaves out dates and libav's version.
        context!.pointee.flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_BITEXACT
        context!.pointee.io_open = { _, _, _, _, _ in -EPERM }
    }

    deinit { avformat_free_context(context) }

    var wantsGlobalHeader: Bool { context!.pointee.oformat.pointee.flags & AVFMT_GLOBALHEADER != 0 }

    func addAudio(_ encoder: borrowing Encoder) throws {
        let stream = try newStream()
        try check(
            avcodec_parameters_from_context(stream.pointee.codecpar, encoder.context),
            "avcodec_parameters_from_context"
        )
        incoming = encoder.context.pointee.time_base
        stream.pointee.time_base = incoming
        audio = stream
        stateClock(stream.pointee.codecpar)
        try writeMP4Ourselves()
    }

    /// Where containers count at a rate of the codec, libav takes the stated rate for the container's.
    private func stateClock(_ parameters: UnsafeMutablePointer<AVCodecParameters>) {
        guard let clock = CodecRegistry.rules(parameters.pointee.codec_id).clockHz, parameters.pointee.sample_rate > 0
        else { return }
        let rate = Int32(clock)
        parameters.pointee.initial_padding = parameters.pointee.initial_padding * rate / parameters.pointee.sample_rate
        parameters.pointee.frame_size = parameters.pointee.frame_size * rate / parameters.pointee.sample_rate
        parameters.pointee.sample_rate = rate
    }

    /// Adds a stream whose packets are copied unchanged.
    ///
    /// Packet times count frames at the source's rate; the first `priming` frames are not sound.
    func addAudio(
        copying source: InputStream,
        _ format: ResolvedFormat,
        priming: Int64,
        packetFrames: Int64
    ) throws {
        let stream = try newStream()
        let copy = stream.pointee.codecpar!
        try check(avcodec_parameters_copy(copy, source.pointer.pointee.codecpar), "avcodec_parameters_copy")
        copy.pointee.codec_tag = 0
        // libav's CAF muxer divides by the number of packets if packets have no fixed
        // length, and one packet is too few.
        if copy.pointee.frame_size == 0 { copy.pointee.frame_size = Int32(clamping: packetFrames) }
        copy.pointee.initial_padding = Int32(priming)
        if format.codec == .opus { try setExtradata(OpusHeader.bytes(of: source, preSkip: Int(priming)), of: copy) }
        incoming = AVRational(num: 1, den: Int32(source.sampleRateHz))
        stream.pointee.time_base = incoming
        audio = stream
        try writeMP4Ourselves()
    }

    /// Sets the codec header, for sources that keep it in their packets or nowhere.
    func setExtradata(_ bytes: [UInt8]) throws { try setExtradata(bytes, of: audio!.pointee.codecpar) }

    private func setExtradata(_ bytes: [UInt8], of parameters: UnsafeMutablePointer<AVCodecParameters>) throws {
        let capacity = bytes.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)
        let copy = try allocated(av_mallocz(capacity)?.assumingMemoryBound(to: UInt8.self), "av_mallocz")
        bytes.withUnsafeBufferPointer { copy.update(from: $0.baseAddress!, count: $0.count) }
        av_free(parameters.pointee.extradata)
        parameters.pointee.extradata = copy
        parameters.pointee.extradata_size = Int32(bytes.count)
    }

    private func writeMP4Ourselves() throws {
        guard rules.assemblesSamples else { return }
        template = try MP4Template()
        context!.pointee.pb = template!.output
    }

    /// Adds a picture, which is written right after the header. Pictures count from 1.
    func addPicture(_ picture: Picture, number: Int) throws {
        let stream = try newStream()
        let parameters = stream.pointee.codecpar!
        parameters.pointee.codec_id = picture.isPNG ? AV_CODEC_ID_PNG : AV_CODEC_ID_MJPEG
        if !picture.text.isEmpty { av_dict_set(&stream.pointee.metadata, "title", picture.text, 0) }
        if coverPlace == .attachment {
            parameters.pointee.codec_type = AVMEDIA_TYPE_ATTACHMENT
            try setExtradata(picture.bytes, of: parameters)
            av_dict_set(&stream.pointee.metadata, "mimetype", picture.mimeType, 0)
            let name = PictureKind.fileName(picture.kind, number: number) + (picture.isPNG ? ".png" : ".jpg")
            av_dict_set(&stream.pointee.metadata, "filename", name, 0)
        } else {
            parameters.pointee.codec_type = AVMEDIA_TYPE_VIDEO
            parameters.pointee.width = Int32(picture.width)
            parameters.pointee.height = Int32(picture.height)
            stream.pointee.disposition = AV_DISPOSITION_ATTACHED_PIC
            av_dict_set(&stream.pointee.metadata, "comment", PictureKind.name(picture.kind), 0)
            covers.append((stream.pointee.index, picture))
        }
    }

    /// Sets metadata; `onStream` puts it on the stream, where Ogg keeps its comments.
    func setTags(_ tags: [(String, String)], onStream: Bool) {
        // libav searches all names before each one, unless it may add a name twice.
        let isUnique = Set(tags.map { $0.0.lowercased() }).count == tags.count
        let flags = isUnique ? AV_DICT_MULTIKEY : 0
        for (key, value) in tags {
            if onStream, let audio {
                av_dict_set(&audio.pointee.metadata, key, value, flags)
            } else {
                av_dict_set(&context!.pointee.metadata, key, value, flags)
            }
        }
    }

    /// Sets the chapters. The muxer rounds their times to its own clock.
    func setChapters(_ chapters: [Chapter]) throws {
        let ticks = 1_000_000_000
        let list = chapters.filter { $0.startTicks(ticks) != nil }
        guard !list.isEmpty else { return }
        typealias Place = UnsafeMutablePointer<AVChapter>?
        let memory = av_mallocz(list.count * MemoryLayout<Place>.stride)
        let places = try allocated(memory?.bindMemory(to: Place.self, capacity: list.count), "av_mallocz")
        // From here on, the context owns them.
        context!.pointee.chapters = places
        for (index, chapter) in list.enumerated() {
            let memory = av_mallocz(MemoryLayout<AVChapter>.size)
            let one = try allocated(memory?.bindMemory(to: AVChapter.self, capacity: 1), "av_mallocz")
            places[index] = one
            context!.pointee.nb_chapters += 1
            one.pointee.id = Int64(index + 1)
            one.pointee.time_base = AVRational(num: 1, den: Int32(ticks))
            one.pointee.start = chapter.startTicks(ticks) ?? 0
            one.pointee.end = chapter.endTicks(ticks) ?? one.pointee.start
            if let title = chapter.title { av_dict_set(&one.pointee.metadata, "title", title, 0) }
        }
    }

    /// Writes the header. An option that the muxer does not know is a bug in this module and throws.
    func writeHeader(_ pairs: [(String, String)]) throws {
        var options = Options(pairs)
        try check(avformat_write_header(context, &options.pointer), "avformat_write_header")
        hasHeader = true
        if !options.leftOver.isEmpty { throw LibAVError("avformat_write_header options", -EINVAL) }
        for cover in covers { try write(cover.picture, stream: cover.stream) }
        if let template {
            assembler = try MP4Assembler(
                ftyp: template.fileType(),
                to: sink,
                timescale: Int(audio!.pointee.time_base.den),
                rollDistance: rollDistance
            )
        }
    }

    func write(_ packet: inout Packet) throws {
        packet.pointer.pointee.stream_index = audio!.pointee.index
        av_packet_rescale_ts(packet.pointer, incoming, audio!.pointee.time_base)
        packet.pointer.pointee.pos = -1
        if let template { return try assemble(&packet, template) }
        try check(av_write_frame(context, packet.pointer), "av_write_frame")
        try checkSink("av_write_frame")
    }

    /// Ends the current page or cluster; the next packet begins another.
    func flush() throws {
        try check(av_write_frame(context, nil), "av_write_frame")
        try checkSink("av_write_frame")
    }

    /// Writes the remaining data and completes the headers.
    ///
    /// A flush before the trailer would make Ogg lose the end-of-stream flag of its last page. `parts` are those of the packets
    /// that are played, in frames, if there are several.
    func finish(playing parts: [Range<Int64>] = []) throws {
        if let template {
            guard parts.isEmpty || audio!.pointee.time_base.den == incoming.den else {
                throw sink.malformed("the clock of the track does not count frames")
            }
            try assembler!.finish(template.moov(context), to: sink, playing: parts)
        } else {
            try check(av_write_trailer(context), "av_write_trailer")
        }
        avio_flush(sink.context)
        try checkSink("av_write_trailer")
    }

    private func assemble(_ packet: inout Packet, _ template: MP4Template) throws {
        guard packet.byteCount > 0 else { return }
        let duration = packet.duration
        try packet.withBytes { try assembler!.append($0, duration: duration, to: sink) }
        try template.take(&packet, context)
    }

    /// The roll distance: the number of samples (packets) that a decoder needs before its output is right.
    private var rollDistance: Int? { CodecRegistry.rules(audio!.pointee.codecpar.pointee.codec_id).rollPackets }

    /// libav loses write errors behind its buffer; the sink keeps them.
    private func checkSink(_ operation: StaticString) throws {
        if let failure = sink.failure { throw LibAVError(operation, -failure) }
    }

    private func write(_ picture: Picture, stream: Int32) throws {
        let packet = try Packet()
        try check(av_new_packet(packet.pointer, Int32(picture.bytes.count)), "av_new_packet")
        picture.bytes.withUnsafeBufferPointer {
            packet.pointer.pointee.data.update(from: $0.baseAddress!, count: $0.count)
        }
        packet.pointer.pointee.stream_index = stream
        packet.pointer.pointee.flags |= AV_PKT_FLAG_KEY
        packet.pointer.pointee.pts = 0
        packet.pointer.pointee.dts = 0
        try check(av_write_frame(context, packet.pointer), "av_write_frame")
    }

    private func newStream() throws -> UnsafeMutablePointer<AVStream> {
        try allocated(avformat_new_stream(context, nil), "avformat_new_stream")
    }
}
