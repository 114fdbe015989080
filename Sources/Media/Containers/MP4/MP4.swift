import Conversion

/// MP4, QuickTime and their relatives.
struct MP4: ContainerRules, MovieRules {
    let packets = PacketTraits(
        clock: .rounded,
        jump: .byIndex,
        stateTheirSkip: true,
        mayShiftTogether: true,
        tables: .samples
    )

    // MARK: Opening

    func protectionMark(in source: ByteSource) -> String? { MP4Protection.sampleEntry(in: source) }

    var movie: (any MovieRules)? { self }

    /// The boxes of a pipe tell whether the header knows all of the sound.
    func follow(_ source: ByteSource) { source.follow(with: BoxTrail()) }

    func headerPatches(in source: ByteSource) throws -> [SourcePatch] { MP4Edits.patches(in: source) }

    func lastDuration(ofTrack id: Int, in source: ByteSource) -> Int64? {
        LastFragment.duration(ofTrack: id, in: source)
    }

    func fragmentsBehindGaps(in source: ByteSource) -> [Range<Int64>] {
        source.isSeekable
            ? FragmentChain.behindGaps(in: source) : (source.onlooker as? BoxTrail)?.gaps.ranges ?? []
    }

    func plainMovie(in source: ByteSource, _ limits: SampleTableRules) throws -> PlainMovie? {
        try PlainMovie(source, limits)
    }

    func speakers(of stream: InputStream, in source: ByteSource) -> SpeakerOrder? {
        MP4Layout.speakers(of: stream, in: source)
    }

    // MARK: Tags

    func capTags(_ cap: inout TagCap, from start: Int64) { cap.capMP4() }

    func collectTags(in source: ByteSource, _ size: Int64, into collector: inout TagCollector) {
        MP4Items.collect(in: source, size, into: &collector)
    }

    func keptItems(in source: ByteSource) -> [UInt8] { source.size.map { MP4Items.kept(in: source, $0) } ?? [] }

    // MARK: Facts

    func facts(of stream: InputStream, in demuxer: Demuxer) -> ContainerFacts? { MP4Facts.read(demuxer, stream) }

    /// A pipe does not show the resolution of the ticks in which the file states its length.
    func length(_ stated: StatedLength, of stream: InputStream, in demuxer: Demuxer) -> LengthPromise {
        stated.exact > 0 && demuxer.source.isSeekable
            ? .exact(stated.exact)
            : .about(stated.near, tolerance: Int64(stream.sampleRateHz / 100), unlessZero: true)
    }

    // MARK: Packets

    /// The edit list puts the sound at zero. If the delay exceeds one packet, as with Apple's encoder, libav may mark
    /// only the first packet's share. It also counts in ticks of the track, which may differ from samples, and obeys
    /// iTunSMPB, whatever the edit list or the packets say.
    func firstSkip(of packet: borrowing Packet, _ stream: InputStream, _ track: Track) -> (start: Int, end: Int)? {
        guard let time = packet.timestamp else { return nil }
        let (start, end) = packet.skip
        // Without an edit list, only iTunSMPB marks frames.
        if time >= 0, start > 0, let priming = track.primingFrames { return (priming, end) }
        let ticks = time < 0 ? -time : Int64(start)
        let frames = Int(stream.nearestFrames(ticks, rate: track.sampleRateHz))
        // A first packet that gives no frames has a duration, by which the edit list puts it before zero.
        if track.codec.packets.firstFillsWindow {
            return (max(0, frames - Int(stream.nearestFrames(packet.duration, rate: track.sampleRateHz))), end)
        }
        return frames > 0 ? (frames, end) : nil
    }

    func obeysMark(of priming: Int, in track: Track) -> Bool { track.primingFrames == priming }

    // MARK: Ends

    func soundEnd(of track: Track, _ stream: InputStream) -> Int64? {
        let rate = track.sampleRateHz
        if stream.ticks(exactly: 1, rate: rate) != nil { return track.sourceLength.frames }
        // Where SBR doubles the frames, ticks of two frames show the end as well, since the packets confirm them.
        guard let scale = stream.ticksPerSecond, scale * 2 >= rate, track.codec.durations(of: stream) != nil else {
            return nil
        }
        return track.sourceLength.exactFrames
    }

    func lacksEnd(_ source: ByteSource) -> Bool { FragmentChain.isBroken(source) }
}

/// As an output.
extension MP4 {
    // MARK: Muxing

    func muxerName(_ format: ResolvedFormat) -> String { format.container == .m4a ? "ipod" : "mp4" }

    /// Makes the edit list count single frames.
    func muxerOptions(_ format: ResolvedFormat) -> [(String, String)] {
        [("movie_timescale", "\(format.codec == .opus ? OpusHeader.rateHz : format.sampleRateHz)")]
    }

    var assemblesSamples: Bool { true }

    func copying(_ codec: Codec) -> CopyTraits { CopyTraits(trims: .sixteenBits) }

    var playsParts: Bool { true }

    func patch(_ sink: ByteSink, _ format: ResolvedFormat, _ facts: WrittenFacts) throws {
        try MP4Patch.apply(to: sink, format, facts)
        try MP4ChapterTrack.append(facts.chapters, to: sink)
    }

    // MARK: Tags for outputs

    /// libav writes some tags. `patch` writes the others.
    func prepared(_ tags: [Tag]) -> [Tag] { MP4TagItems(tags).forLibAV }

    func keepsValues(of name: String) -> Bool { MP4TagItems.keepsValues(of: name) }

    var statesPictureKinds: Bool { false }
}
