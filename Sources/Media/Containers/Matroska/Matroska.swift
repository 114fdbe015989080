import Conversion

/// Matroska and WebM.
struct Matroska: ContainerRules {
    /// Whether the output is WebM. As sources the two do not differ.
    var isWebM = false

    let packets = PacketTraits(clock: .rounded, jump: .never, timesAreRounded: true, mayStopEarly: true)

    // MARK: Tags

    func capTags(_ cap: inout TagCap, from start: Int64) { cap.capMatroska() }

    func collectTags(in source: ByteSource, _ size: Int64, into collector: inout TagCollector) {
        MatroskaTags.collect(in: source, size, into: &collector)
    }

    // MARK: Facts and packets

    func length(_ stated: StatedLength, of stream: InputStream, in demuxer: Demuxer) -> LengthPromise {
        .ofLongestTrack(
            in: demuxer,
            stream,
            from: MatroskaStart.ticks(demuxer.source).map {
                stream.nearestFrames($0, rate: stream.sampleRateHz)
            } ?? 0
        )
    }

    /// A block states only the frames to drop at its end, and libav then ignores those that the codec's header states.
    func firstSkip(of packet: borrowing Packet, _ stream: InputStream, _ track: Track) -> (start: Int, end: Int)? {
        guard packet.hasSkip, let preSkip = track.codec.preSkip(of: stream) else { return nil }
        let (start, end) = packet.skip
        return start == 0 ? (preSkip, end) : nil
    }

    // MARK: Ends

    func lacksEnd(_ source: ByteSource) -> Bool { MatroskaEnd.isBroken(source) }
}

/// As an output.
extension Matroska {
    func muxerName(_ format: ResolvedFormat) -> String { isWebM ? "webm" : "matroska" }

    /// libav cannot read an empty Matroska file.
    var mayBeEmpty: Bool { false }

    // MARK: Priming and padding

    /// Whether only whole packets can be dropped at the start.
    private func dropsWholePackets(_ codec: Codec) -> Bool { !isWebM && (codec == .aac || codec == .mp3) }

    /// With this silence, the encoder delay ends at a packet boundary.
    func leadInFrames(_ format: ResolvedFormat, _ encoder: borrowing Encoder) -> Int {
        guard dropsWholePackets(format.codec), encoder.frameSize > 0 else { return 0 }
        return (encoder.frameSize - encoder.delay % encoder.frameSize) % encoder.frameSize
    }

    func marking(_ format: ResolvedFormat, _ encoder: borrowing Encoder) throws -> PacketSink.Marking {
        if dropsWholePackets(format.codec) {
            let delay = encoder.delay + leadInFrames(format, encoder)
            return .packets(frameSize: encoder.frameSize, delayPackets: delay / encoder.frameSize)
        }
        switch format.codec {
        case .vorbis: return .vorbisPackets(try VorbisPacketLength.open(encoder))
        case .opus: return .opusPackets(ticksPerFrame: OpusHeader.rateHz / format.sampleRateHz)
        default: return .none
        }
    }

    func copying(_ codec: Codec) -> CopyTraits {
        if dropsWholePackets(codec) { return CopyTraits(marks: .eitherEnd, trims: .oneEnd) }
        switch codec {
        case .opus: return CopyTraits(marks: .end, trims: .sixteenBits)
        case .vorbis: return CopyTraits(marks: .endBehindFirst, trims: .sixteenBits)
        default: return CopyTraits(trims: isWebM ? .sixteenBits : .none)
        }
    }

    func patch(_ sink: ByteSink, _ format: ResolvedFormat, _ facts: WrittenFacts) throws {
        try MatroskaPatch.apply(to: sink, format, facts)
        if let packet = facts.trimmedPacket { try MatroskaPatch.turnTrim(ofGroup: packet, in: sink) }
        let tags = NativeTags(facts.tags.filter { !$0.isTechnical }, in: .matroska).tags
        try MatroskaValues.divide(tags, in: sink)
    }

    // MARK: Tags for outputs

    var tagFormat: TagFormat? { .matroska }

    func keepsValues(of name: String) -> Bool {
        let row = TagTable.row(key: name).flatMap { TagTable.native(for: .common($0.name), in: .matroska) }
        return MatroskaValues.areApart(row ?? name)
    }

    func prepared(_ tags: [Tag]) -> [Tag] { MatroskaValues.joined(NativeTags(tags, in: .matroska).tags) }

    var givesChaptersToLibAV: Bool { !isWebM }

    var statesPictureKinds: Bool { false }
}
