public import Conversion

/// Reads one source: describes it, and hands out the samples or packets of one of its tracks.
///
/// The caller keeps ownership of the source's descriptor. A reader reads only the bytes behind it and opens nothing
/// else. It is not `Sendable`: give each reader its own thread, or use `AsyncReader`.
public final class Reader {
    /// How a source is opened.
    public struct Options: Sendable {
        /// A file name whose extension identifies the few formats without a signature. It is never opened.
        public var nameHint: String?
        /// The format of headerless PCM, which cannot describe itself.
        public var raw: RawShape?
        /// What to do when the source is damaged.
        public var damage: DamageMode
        /// Seconds of silence that may replace missing sound; `nil` for the limit of `ConcealLimit`.
        public var concealSeconds: Int?
        /// Whether silence may replace more than 5 % of a source whose packets all decode. For those who count damage and
        /// keep no sound.
        public var concealsClaims = false
        /// Whether to check a whole track against its container's digest, at a small cost. Only FLAC has one.
        public var checksDigest: Bool
        /// Whether to compute the `SoundDigest` of a whole track: see `TrackOutput.finishSoundDigest()`.
        public var digestsSound: Bool
        /// Whether to look for the lowest and highest bit rate that the packets state: see `TrackOutput.packetBitRates`.
        package var watchesBitRates = false
        /// Processor time in seconds that opening may take; `nil` for no limit.
        public var openSeconds: Int?
        /// Stops the reading from another thread.
        public var stop: StopSignal
        /// The size from which MP4's sample tables are read here and not by libav.
        var sampleTables = SampleTableRules()
        /// Limits of what random access keeps.
        var seeking = SeekRules()
        /// Whether the sound ends with the source, whatever its header counts.
        var ignoresCount = false

        public init(
            nameHint: String? = nil,
            raw: RawShape? = nil,
            damage: DamageMode = .strict,
            concealSeconds: Int? = nil,
            checksDigest: Bool = false,
            digestsSound: Bool = false,
            openSeconds: Int? = nil,
            stop: StopSignal = StopSignal()
        ) {
            self.nameHint = nameHint
            self.raw = raw
            self.damage = damage
            self.concealSeconds = concealSeconds
            self.checksDigest = checksDigest
            self.digestsSound = digestsSound
            self.openSeconds = openSeconds
            self.stop = stop
        }
    }

    public let description: SourceDescription
    /// The names of tags with several values, which are one text in the description.
    let repeatedTags: [KnownTags.Repeated]
    /// Whether the source has more tags than are read.
    let tagsAreCut: Bool
    /// How many chapters the source has beyond those that are read.
    let unreadChapters: Int
    /// Whether the chapters are the tracks of a CUE sheet in the tags.
    let chaptersAreOfSheet: Bool
    let options: Options
    let demuxer: Demuxer
    private var isInUse = false
    /// Serves `read`; made by its first use.
    private var sampleReader: SampleReader?
    /// `nil` if the size is unknown.
    package var sourceBytes: Int64? { demuxer.source.size }
    /// Whether the source can be read more than once.
    var isSeekable: Bool { demuxer.source.isSeekable }

    /// Opens the source behind `descriptor` and describes it.
    public init(descriptor: Int32, options: Options = Options()) throws {
        let (demuxer, options) = try Reader.open(descriptor, options)
        (self.demuxer, self.options) = (demuxer, options)

        let streams = demuxer.streams
        var tags = demuxer.tags
        if let first = streams.first(where: \.isAudio), demuxer.rules.paged != nil || tags.isEmpty {
            tags += first.tags
        }
        let own = options.raw == nil ? demuxer.ownTags : Tags()
        let known = KnownTags(tags.map(Tag.init(key:value:)), completedBy: own)
        let allTags = known.tags + (options.raw == nil ? demuxer.tagsOfID3v1(besides: known.tags) : [])
        (repeatedTags, tagsAreCut) = (known.repeated, own.isCut)
        let tracks = streams.filter(\.isAudio).map { stream in
            Track(stream, in: demuxer, facts: ContainerFacts.read(demuxer, stream))
        }
        let end = (tracks.first(where: \.isDefault) ?? tracks.first).flatMap { track in
            track.plausibleFrames.map { MediaTime(frames: $0, rate: track.sampleRateHz) }
        }
        .flatMap { $0.isNumeric ? $0 : nil }
        let found = SourceChapters(demuxer, tracks.first, allTags, upTo: end)
        unreadChapters = Int(clamping: found.unread)
        chaptersAreOfSheet = found.areOfSheet
        description = SourceDescription(
            container: demuxer.shortName,
            tracks: tracks,
            tags: allTags,
            chapters: found.chapters,
            pictures: streams.filter(\.isCover).prefix(Reader.mostPictures).compactMap { Picture($0) }
        )
        try Reader.refuseWhatCannotBeRead(streams, description)
    }

    /// Opens the container, and once more if its packets are trusted and its header counts only a part of the sound.
    private static func open(_ descriptor: Int32, _ options: Options) throws -> (Demuxer, Options) {
        let demuxer = try Demuxer(ByteSource(descriptor: descriptor, stop: options.stop), options)
        guard options.damage == .trustPackets, demuxer.source.isSeekable, demuxer.countsPartOfItsSound else {
            return (demuxer, options)
        }
        var options = options
        options.ignoresCount = true
        return (try Demuxer(ByteSource(descriptor: descriptor, stop: options.stop), options), options)
    }

    /// The track with this stream number, or the main track. Throws `protected_content` if it is encrypted.
    public func track(_ index: Int? = nil) throws -> Track {
        guard let index else { return try possible(description.mainTrack!) }
        if let track = description.tracks.first(where: { $0.index == index }) { return try possible(track) }
        let known = description.tracks.map { "\($0.index)" }.joined(separator: ", ")
        throw MediaError(
            .noSuchTrack,
            at: .probe,
            "there is no audio track \(index)",
            stream: index,
            hint: "audio tracks: \(known)"
        )
    }

    /// The decoded samples of a track, whole or in ranges, in the track's format. A reader has one output.
    ///
    /// Ranges are read in the order given and may overlap. A range that begins before the end of the previous one
    /// needs a seekable source. A time between two frames is rounded to the nearer frame, and in the middle to the
    /// later one. A range must lie within the source: if it does not, `range_outside_source` is thrown here when
    /// the length is known, else on reaching the end. Sound before a range is not decoded if packets state their
    /// length, unless the damage mode tolerates damage: only decoding finds it.
    public func samples(of track: Track, ranges: [MediaTimeRange] = []) throws -> TrackOutput {
        try samples(of: track) { RangeCursor(try self.frameRanges(ranges, of: track), track.edits) }
    }

    /// Random access to the decoded samples of a track. A reader has one output.
    ///
    /// Throws `source_not_seekable` for a pipe.
    public func sampleReader(of track: Track) throws -> SampleReader {
        guard demuxer.source.isSeekable else {
            throw MediaError(
                .sourceNotSeekable,
                at: .decode,
                "a pipe has no random access",
                stream: track.index
            )
        }
        return SampleReader(try samples(of: track) { .undecided(track.edits) })
    }

    /// The samples of `range` of a track as a value: interleaved, in the sample format that the decoder gives. The main
    /// track if `track` is `nil`.
    ///
    /// May be called again with any range of the same track, and then searches the open source. It is this reader's
    /// output: `samples(of:ranges:)` and the others are no longer available.
    ///
    /// Throws `range_outside_source`, `source_not_seekable` for a pipe, and `format_refused` if the format of the sound
    /// changes within the range. All of the range is held in memory.
    public func read(_ range: MediaTimeRange, of track: Track? = nil) throws -> PCMBlock {
        let track = try track ?? sampleReader?.track ?? self.track()
        if sampleReader == nil { sampleReader = try sampleReader(of: track) }
        guard let sampleReader, sampleReader.track == track else {
            throw MediaError(.alreadyFinished, at: .open, "this reader already reads another track")
        }
        return try sampleReader.block(frameRanges([range], of: track)[0])
    }

    private func samples(of track: Track, _ cursor: () throws -> RangeCursor) throws -> TrackOutput {
        _ = try Reader.readable(track)
        try takeOnce()
        let stream = demuxer.streams[track.index]
        try Reader.refuseUndecodable(stream, track)
        let (source, options) = (demuxer.source, options)
        return try TrackOutput(demuxer, track, cursor(), options) {
            guard source.isSeekable else {
                throw MediaError(
                    .sourceNotSeekable,
                    at: .decode,
                    "a range lies before the previous one, and the source cannot seek",
                    stream: track.index
                )
            }
            return try Demuxer(ByteSource(descriptor: source.descriptor, stop: options.stop), options)
        }
    }

    /// The packets of a track, exactly as the container stores them.
    public func packets(of track: Track) throws -> PacketOutput {
        _ = try Reader.readable(track)
        if track.edits != nil {
            throw MediaError(
                .passthroughRefused,
                at: .open,
                "the edit list of the track plays parts of its packets",
                stream: track.index
            )
        }
        try takeOnce()
        return try PacketOutput(demuxer, track, options)
    }

    /// Checks that the track can be converted at all. A failure is due to the source's header, not the request.
    private func possible(_ track: Track) throws -> Track {
        _ = try Reader.readable(track)
        if track.hasUnknownCodec { throw Reader.unsupported(track) }
        try Reader.refuseSilent(demuxer.streams[track.index], track)
        guard track.channelCount <= Reader.mostChannels else {
            throw MediaError(
                .unreadableContainer,
                at: .probe,
                "the header claims \(Plural.count(track.channelCount, "channel"))",
                stream: track.index
            )
        }
        return track
    }

    private func takeOnce() throws {
        if isInUse { throw MediaError(.alreadyFinished, at: .open, "this reader already has an output") }
        isInUse = true
    }

    private func frameRanges(_ ranges: [MediaTimeRange], of track: Track) throws -> [Range<Int64>] {
        if ranges.isEmpty { return [0..<Int64.max] }
        return try ranges.map { range in
            let rate = track.sampleRateHz
            let start = range.start.frames(atRate: rate)?.frames ?? 0
            let end = range.isOpenEnded ? Int64.max : range.end.frames(atRate: rate)?.frames ?? Int64.max
            // Trusted packets show at the end how long the sound is. An edit list plays nothing beyond its own.
            let isTrusted = options.damage == .trustPackets && track.edits == nil
            let last = isTrusted ? nil : track.length.exactFrames
            if start < 0 || start > end || last.map({ start > $0 || (end > $0 && end != .max) }) == true {
                throw MediaError(
                    .rangeOutsideSource,
                    at: .open,
                    "the range \(range) is not within the source",
                    stream: track.index,
                    hint: last.map { "the source ends at \(MediaTime(frames: $0, rate: rate))" }
                )
            }
            return start..<end
        }
    }
}

extension Reader {
    private static func refuseWhatCannotBeRead(_ streams: [InputStream], _ description: SourceDescription) throws {
        guard !description.tracks.isEmpty else {
            if streams.isEmpty {
                throw MediaError(.noDecodableFrame, at: .probe, "this \(description.container) file has no streams")
            }
            throw MediaError(.noAudioTrack, at: .probe, "this \(description.container) file has no audio track")
        }
    }

    private static func readable(_ track: Track) throws -> Track {
        guard !track.isProtected else {
            throw MediaError(
                .protectedContent,
                at: .probe,
                "the track is encrypted (\(track.fourCC))",
                stream: track.index
            )
        }
        if let refusal = track.refusal {
            throw MediaError(
                refusal.code,
                at: refusal.stage,
                refusal.detail,
                stream: track.index,
                hint: refusal.hint
            )
        }
        return track
    }

    /// Files with more pictures were made to waste memory.
    static let mostPictures = 64

    /// No output container here holds more channels.
    private static let mostChannels = 64

    private static func unsupported(_ track: Track) -> MediaError {
        if let format = Allowlist.withheld(codec: track.codecName) { return .withheld(format, at: .probe) }
        return MediaError(
            .unsupportedCodec,
            at: .probe,
            track.hasUnknownCodec
                ? "the track's codec is unknown" : "the codec \(track.codecName) is not supported",
            stream: track.index
        )
    }

    /// Refuses a track without rate or channels. PCM has them from its header, other codecs from their first
    /// frames.
    private static func refuseSilent(_ stream: InputStream, _ track: Track) throws {
        guard track.sampleRateHz <= 0 || track.channelCount <= 0 else { return }
        guard stream.decoder != nil else { throw unsupported(track) }
        throw MediaError(
            stream.isPCM ? .unreadableContainer : .noDecodableFrame,
            at: .probe,
            stream.isPCM
                ? "the header claims \(track.sampleRateHz) Hz and \(Plural.count(track.channelCount, "channel"))"
                : "no frame of the \(track.codecName) track could be decoded",
            stream: track.index
        )
    }

    static func refuseUndecodable(_ stream: InputStream, _ track: Track) throws {
        guard stream.decoder != nil else { throw unsupported(track) }
        if let detail = track.codec.refusal(of: track.bitDepth) {
            throw MediaError(.unsupportedBitDepth, at: .probe, detail, stream: track.index)
        }
        try refuseSilent(stream, track)
    }
}

extension Track {
    init(_ stream: InputStream, in demuxer: Demuxer, facts: ContainerFacts?) {
        index = stream.index
        codecName = stream.codecName
        fourCC = stream.fourCC
        sampleRateHz = stream.sampleRateHz
        channelCount = stream.channelCount
        channelMask = stream.channelMask
        bitDepth = stream.bitDepth
        isFloat = stream.codec.isFloat(stream)
        isLossless = stream.isLossless
        isDefault = stream.isDefault
        bitRate = stream.bitRate
        isEmpty = demuxer.hasOneStream && demuxer.rules.provesEmpty(demuxer.source)
        edits = facts?.edits
        refusal = facts?.refusal
        let stated = isEmpty ? .exact(0) : LengthPromise(of: stream, in: demuxer, facts: facts)
        let hasFollowers = facts?.hasFollowers ?? false
        length = hasFollowers ? .none : isEmpty ? stated : edits.map { .exact($0.frames) } ?? stated
        lengthBeforeOthers = hasFollowers ? stated : nil
        lengthIsPlausible = ConcealLimit.allows(edits?.source ?? length, of: stream, in: demuxer.source.size)
        isCutAtLength = facts?.isCutAtLength ?? false
        isExcerpt = facts?.isExcerpt ?? false
        endsWithItsPackets = facts?.endsWithItsPackets ?? false
        lengthRemark = facts?.remark
        primingFrames = facts?.primingFrames ?? facts?.droppedFrames ?? stream.codecDelay
        paddingFrames = facts?.paddingFrames
        isProtected = MP4Protection.marks(stream.fourCC)
        undroppedPriming = facts?.primingFrames ?? 0
        tags = stream.tags.map(Tag.init(key:value:))
    }
}
