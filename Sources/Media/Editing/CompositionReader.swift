public import Conversion

/// Reads a timeline like a source: describes the sound that its sources make together, and hands out its samples.
///
/// The caller keeps ownership of the descriptors, which must be seekable unless every source is played once and in
/// order. Give each reader its own thread.
public final class CompositionReader {
    /// One source of a timeline.
    public struct Input: Sendable {
        /// By which the timeline's pieces refer to it.
        public var name: String
        public var descriptor: Int32
        /// The audio track's stream number; `nil` for the main track.
        public var track: Int?
        public var options: Reader.Options

        public init(name: String, descriptor: Int32, track: Int? = nil, options: Reader.Options = Reader.Options()) {
            self.name = name
            self.descriptor = descriptor
            self.track = track
            self.options = options
        }
    }

    public let timeline: Timeline
    private let sources: SoundSources
    private let clock: SampleShape
    private let plan: MixPlan
    private let stop: StopSignal
    private let channelRemarks: [Remark]
    private let silence: SilenceSearch
    /// What limits the samples that were opened last; `nil` if nothing does.
    private var limiter: Limiter?

    /// Opens the sources. `rate` is the sample rate of the clock if the timeline does not say; `nil` for the highest of
    /// the sources.
    ///
    /// Throws a `RecipeError`, or `range_outside_source`, if a piece wants what its source does not have. A source that
    /// does not state its exact length is read to its end first, and so is one whose silence is left out.
    public convenience init(_ timeline: Timeline, inputs: [Input], rate: Int? = nil) throws {
        try self.init(timeline, inputs: inputs, rate: rate, watch: nil)
    }

    /// `watch` is called while silence is searched for.
    init(_ timeline: Timeline, inputs: [Input], rate: Int?, watch: SilenceSearch.Watch?) throws {
        self.timeline = timeline
        let opened = try inputs.map { input in
            let reader = try Reader(descriptor: input.descriptor, options: input.options)
            return SoundSources.Source(
                name: input.name,
                descriptor: input.descriptor,
                options: input.options,
                reader: reader,
                track: try reader.track(input.track)
            )
        }
        let choice = try ClockChoice(timeline, opened, rate: rate)
        clock = try choice.shape()
        channelRemarks = try choice.remarks()
        sources = try SoundSources(opened)
        stop = inputs.first?.options.stop ?? StopSignal()
        silence = SilenceSearch(sources, stop: stop, watch: watch)
        var planner = TimelinePlanner(timeline, sources: sources.sources, clock: clock, silence: silence)
        plan = try planner.plan()
    }

    /// The length of the timeline on its clock.
    public var frames: Int64 { plan.frames }

    /// What an output format has to suit.
    public var shape: AudioShape {
        let tracks = sources.sources.map(\.track)
        let lossless = tracks.allSatisfy(\.isLossless)
        return AudioShape(
            sampleRateHz: clock.sampleRateHz,
            channelCount: clock.channelCount,
            layout: clock.channelMask == 0 ? nil : ChannelLayout(mask: clock.channelMask),
            bitDepth: tracks.map(\.bitDepth).max() ?? 16,
            sampleKind: tracks.contains(where: \.isFloat) ? .float : .integer,
            codecName: lossless ? "pcm" : "mix",
            isLossless: lossless,
            frames: plan.frames
        )
    }

    /// The samples of the whole timeline. Each call starts again from the beginning.
    ///
    /// Where pieces only follow one another, their samples stay as the sources have them. Otherwise they are floats.
    public func samples() throws -> any SampleOutput { try samples(.fine, outputRate: clock.sampleRateHz) }

    /// `outputRate` is the rate of the writer: if that resamples as well, all pieces are brought to one sample format
    /// first, because a resampler would stop at each change.
    func samples(_ precision: Resampler.Precision, outputRate: Int) throws -> any SampleOutput {
        sources.precision = precision
        if outputRate == clock.sampleRateHz, timeline.limit == nil,
            let items = plan.sequence(of: sources.sources, on: clock)
        {
            return SequenceOutput(items, on: clock, sources: sources, stop: stop)
        }
        let mix = try MixOutput(plan, on: clock, sources: sources, stop: stop)
        guard let limit = timeline.limit else { return mix }
        let limiter = try Limiter(mix, ceiling: limit.decibels)
        self.limiter = limiter
        return limiter
    }

    /// The packets of the sources that are heard whole, one after another. Throws `passthrough_refused` with the reason if
    /// the timeline plays anything else, or the packets cannot follow one another.
    func packets() throws -> JoinedPackets {
        guard let names = timeline.wholeSources else {
            throw MediaError(.passthroughRefused, at: .open, timeline.reasonAgainstCopying ?? "nothing can be copied")
        }
        return try JoinedPackets(names.compactMap { name in sources.sources.first { $0.name == name } })
    }

    private var limitRemarks: [Remark] {
        guard let limiter, let limit = timeline.limit, limiter.limitedFrames > 0 else { return [] }
        let most = max(limiter.largestReductionDB, 0.1).inTenths
        return [
            Remark(
                .peaksLimited,
                "true peaks were limited to \(limit)TP, by at most \(most) dB",
                count: limiter.limitedFrames
            )
        ]
    }

    /// The damage in the pieces that have been played.
    public var damage: DamageAccount { sources.damage }

    /// Remarks about the sources that have been played, about channels that were mixed on their way to the clock, about
    /// silence that was left out, and about peaks that were limited.
    public var remarks: [Remark] {
        sources.remarks + channelRemarks + sources.mixes.filter { !channelRemarks.contains($0) } + silence.remarks
            + limitRemarks
    }

    /// The first source, whose tags the output has.
    var main: (reader: Reader, track: Track) { (sources.sources[0].reader, sources.sources[0].track) }

    /// What the output has beside its sound: all of the first source. If each source is a chapter of a book, the output
    /// has only the tags that all of them agree on, and no title or number of one chapter.
    func description(ofBook isBook: Bool) -> SourceDescription {
        let first = main.reader.description
        guard isBook else { return first }
        func name(_ tag: Tag) -> String { tag.name ?? tag.key.lowercased() }
        let others = sources.sources.dropFirst().map { source in
            Dictionary(source.reader.description.tags.map { (name($0), $0.values) }) { first, _ in first }
        }
        let agreed = first.tags.filter { tag in others.allSatisfy { $0[name(tag)] == tag.values } }
        let names = Set(agreed.map(name))
        let tags = agreed.filter { tag in
            // A total says nothing without its number.
            guard let number = TagTable.row(name(tag))?.totalOf else { return true }
            return names.contains(number)
        }
        return SourceDescription(
            container: first.container,
            tracks: first.tracks,
            tags: tags,
            chapters: first.chapters,
            pictures: first.pictures
        )
    }

    /// The chapters of the sources, where they are heard. With `marking`, a source without chapters is one.
    func chapters(marking: Bool) -> TimelineChapters {
        let known = sources.sources.map { source in
            var chapters = source.reader.description.chapters
            if marking, chapters.isEmpty { chapters = [source.asChapter] }
            return TimelineChapters.Source(chapters, rate: source.track.sampleRateHz)
        }
        return TimelineChapters(plan, sources: known, rate: clock.sampleRateHz)
    }

    /// What an output lacks of the sources' chapters, tags and pictures. It has tags and pictures of the first source.
    func remarksOfSources(
        _ chapters: TimelineChapters,
        as format: ResolvedFormat,
        settingTags: [String: Recipe.TagValues],
        inStream: Bool
    ) -> [Remark] {
        SourceLoss.remarks(
            main.reader,
            as: format,
            chapters: chapters.chapters,
            lostChapters: chapters.lost,
            behindEnd: chapters.behindEnd,
            settingTags: settingTags,
            inStream: inStream
        )
    }

    /// The remark that the output lacks the chunk `iXML` of a source.
    func chunkRemarks(in container: Container, inStream: Bool) -> [Remark] {
        let remarks = sources.sources.lazy.compactMap { source in
            BroadcastChunks.remark(source.reader, in: container, isSame: false, inStream: inStream)
        }
        return Array(remarks.prefix(1))
    }

    /// The remark that one-bit sound of a source became PCM with all of its noise.
    func oneBitRemarks(in format: ResolvedFormat) -> [Remark] {
        Array(sources.sources.lazy.flatMap { SampleRemarks.oneBit($0.track, in: format) }.prefix(1))
    }

    /// The remark that mixed samples have fewer bits in `format` than in their sources; `nil` if they have not.
    func lostDepth(in format: ResolvedFormat) -> Remark? {
        let shape = shape
        guard shape.isLossless, format.isLossless, format.sampleKind == .integer else { return nil }
        guard shape.sampleKind == .float || shape.bitDepth > format.bitDepth else { return nil }
        let lost = FormatConverter.Depth(bits: shape.bitDepth, isFloat: shape.sampleKind == .float)
        return SampleRemarks.reduced(lost, in: format)
    }
}

extension SoundSources.Source {
    /// All of the source as a chapter, by its title or the name of its file.
    fileprivate var asChapter: Chapter {
        let end = MediaTime(frames: frames, rate: track.sampleRateHz)
        let title = reader.description.tags.first { $0.name == "title" }?.value
        return Chapter(start: .zero, end: end, title: title ?? Self.stem(of: options.nameHint ?? name))
    }

    /// The name of a file without its folders, its root and its extension.
    private static func stem(of location: String) -> String {
        let name = location.split(separator: "/").last ?? ""
        let file = location.contains("/") ? name : name.split(separator: ":").last ?? ""
        guard let dot = file.lastIndex(of: "."), dot > file.startIndex else { return String(file) }
        return String(file[..<dot])
    }
}
