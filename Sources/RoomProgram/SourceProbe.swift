public import Conversion
import Media

/// Describes the file behind an open descriptor.
public struct SourceProbe: Sendable {
    private let nameHint: String?
    private let raw: Recipe.RawDescription?
    private let budget: Budget
    private let signal: StopSignal
    /// The processor time at which a job began that reads its output again; `nil` for a source.
    private let jobStart: Duration?

    /// `nameHint` is a file name whose extension helps with formats that have no signature; the probe never
    /// opens it. `raw` gives the sample format of headerless PCM. `limits` apply to opening and scanning; the
    /// slot enforces the time limits.
    public init(nameHint: String?, raw: Recipe.RawDescription? = nil, limits: Recipe.Limits? = nil) {
        self.init(
            nameHint: nameHint,
            raw: raw,
            budget: Budget(
                decodedSeconds: limits?.decodedSeconds,
                expansionRatio: limits?.expansionRatio,
                cpuSeconds: limits?.cpuSeconds,
                openSeconds: limits?.openSeconds
            ),
            signal: StopSignal(),
            jobStart: nil
        )
    }

    /// Reads a finished output again, within what is left of the budget of a job that began at `jobStart`, until `signal`
    /// stops it. Damage is a failure.
    init(output format: ResolvedFormat, within budget: Budget, since jobStart: Duration, stop signal: StopSignal) {
        self.init(
            nameHint: "output.\(format.container.fileExtensions[0])",
            raw: Recipe.RawDescription(format),
            // A high expansion is good compression, as in `Verifier`.
            budget: Budget(decodedSeconds: budget.decodedSeconds, cpuSeconds: budget.cpuSeconds),
            signal: signal,
            jobStart: jobStart
        )
    }

    private init(
        nameHint: String?,
        raw: Recipe.RawDescription?,
        budget: Budget,
        signal: StopSignal,
        jobStart: Duration?
    ) {
        (self.nameHint, self.raw, self.budget) = (nameHint, raw, budget)
        (self.signal, self.jobStart) = (signal, jobStart)
    }

    /// Seconds of processor time for opening the source; if they are exceeded, the room ends. `nil` for no limit.
    var openSeconds: Int? { budget.openSeconds }
    var hasOpened: Bool { signal.hasOpened }

    /// Ends a scan from another thread, with a failure with the code `cancelled`.
    public func stop() { signal.stop() }

    /// Describes the container. With `scanning`, decodes the main track to its end as well; with `measuring`, does the
    /// same and measures its loudness; with `outlining`, does the same and collects the outline of its sound; with
    /// `surveying`, does the same and measures its levels over time; with `digesting`, does the same and computes the digest
    /// of its sound; with `finding`, does the same and finds silence of that kind; with `marking`, does the same and finds the
    /// points by these rules; with `fitting`, adds what each preset would make of that track; with `listingUnread`, adds what
    /// of the file no output gets.
    public func describe(
        _ descriptor: Int32,
        scanning: Bool = false,
        measuring: Bool = false,
        outlining: Bool = false,
        surveying: Bool = false,
        digesting: Bool = false,
        finding silence: SilenceTrim? = nil,
        marking points: PointRules? = nil,
        fitting: Bool = false,
        listingUnread: Bool = false,
        report: @escaping (ConversionProgress) -> Void = { _ in }
    ) throws(Failure) -> SourceReport {
        do {
            let cpuAtStart = jobStart ?? BudgetWatch.now()
            let meters = Meters(loudness: measuring, outline: outlining, levels: surveying)
            let decodes = scanning || meters.any || digesting || silence != nil || points != nil
            let damage: DamageMode = decodes && jobStart == nil ? .conceal : .strict
            let reader = try open(descriptor, damage: damage, digesting: digesting, meters)
            var description = SourceReport(reader.description)
            if listingUnread {
                let parts = reader.unreadParts
                (description.unreadParts, description.otherStreams) = (parts.names, parts.streams)
            }
            if fitting { description.presets = Converter.presets(for: try reader.track()).map(PresetFit.init) }
            if decodes, !description.isProtected {
                try scan(reader, meters, silence, points, since: cpuAtStart, into: &description, report)
            }
            return description
        } catch {
            throw Failure(error)
        }
    }

    /// What the loudness meter is to find.
    private struct Meters {
        let loudness: Bool
        let outline: Bool
        let levels: Bool

        var any: Bool { loudness || outline || levels }
    }

    private func open(
        _ descriptor: Int32,
        damage: DamageMode,
        digesting: Bool,
        _ meters: Meters
    ) throws -> Reader {
        var options = Reader.Options(
            nameHint: nameHint,
            raw: raw.map(RawShape.init),
            damage: damage,
            checksDigest: true,
            digestsSound: digesting,
            openSeconds: budget.openSeconds,
            stop: signal
        )
        options.concealsClaims = true
        options.watchesBitRates = meters.levels
        return try Reader(descriptor: descriptor, options: options)
    }

    private func scan(
        _ reader: Reader,
        _ meters: Meters,
        _ silence: SilenceTrim?,
        _ rules: PointRules?,
        since cpuAtStart: Duration,
        into description: inout SourceReport,
        _ report: (ConversionProgress) -> Void
    ) throws {
        let track = try reader.track()
        let watch = BudgetWatch(
            budget,
            track: track,
            sourceBytes: reader.sourceBytes,
            since: cpuAtStart,
            at: jobStart == nil ? .decode : .finish,
            spareFrames: jobStart == nil ? 0 : Verifier.spareFrames
        )
        let output = try reader.samples(of: track)
        var block = try SampleBlock()
        var meter: LoudnessMeter?
        var finder = silence.map { SilenceFinder($0, rate: track.sampleRateHz, most: SourceReport.mostSilences) }
        var points = rules.map { PointFinder($0, track: track) }
        var nextReport: Int64 = 0
        var shapes: DecodedShapes?
        while try output.next(into: &block) {
            try watch.check(frames: output.deliveredFrames, rate: track.sampleRateHz)
            points?.add(block, filling: output.filling)
            if meters.any, let shape = block.shape, block.frameCount > 0 {
                shapes = DecodedShapes(shape, with: shapes)
                let used = try meter ?? LoudnessMeter(shape: shape, outlining: meters.outline, surveying: meters.levels)
                meter = used
                try used.add(&block)
            }
            finder?.add(block)
            guard output.deliveredFrames >= nextReport else { continue }
            nextReport = output.deliveredFrames + Int64(track.sampleRateHz)
            report(
                ConversionProgress(
                    position: MediaTime(frames: output.deliveredFrames, rate: track.sampleRateHz),
                    frames: output.deliveredFrames,
                    totalFrames: track.plausibleFrames
                )
            )
        }
        description.scan = ScanReport(
            frames: output.deliveredFrames,
            damage: DamageReport(output.damage),
            sound: output.finishSoundDigest()
        )
        let loudness = try meter?.finish().rounded ?? LoudnessReport()
        if meters.loudness { description.loudness = loudness }
        if meters.levels { description.note(meter?.levelReport ?? LevelReport(), output.packetBitRates, shapes) }
        if meters.outline { description.outline = meter?.outline ?? SoundOutline() }
        description.silences = finder?.middles
        description.points = points?.finish(reader, track, damage: output.damage)
    }
}

extension Recipe.RawDescription {
    /// How to read a headerless output of this format; `nil` for formats with a header.
    fileprivate init?(_ format: ResolvedFormat) {
        guard format.container == .raw else { return nil }
        self.init(
            codec: format.codec,
            sampleRateHz: format.sampleRateHz,
            channelCount: format.channelCount,
            bitDepth: format.bitDepth,
            sampleKind: format.sampleKind,
            endianness: format.endianness
        )
    }
}

extension SourceReport {
    fileprivate init(_ description: SourceDescription) {
        self.init(
            container: description.container,
            tracks: description.tracks.map { TrackReport($0, isMain: $0.index == description.mainTrack?.index) },
            tags: description.tags.map { TagReport($0) },
            chapters: description.chapters.map { ChapterReport(start: $0.start, end: $0.end, title: $0.title) },
            cover: description.cover.map { CoverReport($0) },
            isProtected: description.tracks.contains(where: \.isProtected)
        )
        guard description.pictures.count > 1 else { return }
        pictures = description.pictures.map { CoverReport($0, shows: $0.kindName) }
    }
}

extension SourceReport {
    /// Adds the levels of the main track, the bit rates of its packets, and the shapes of its sound.
    fileprivate mutating func note(_ levels: LevelReport, _ bitRates: ClosedRange<Int>?, _ shapes: DecodedShapes?) {
        self.levels = levels
        guard let track = tracks.firstIndex(where: \.isMain) else { return }
        (tracks[track].lowestBitRate, tracks[track].highestBitRate) = (bitRates?.lowerBound, bitRates?.upperBound)
        guard let shapes else { return }
        let (rate, count) = (tracks[track].sampleRateHz, tracks[track].channelCount)
        if shapes.rates != rate...rate { tracks[track].decodedSampleRatesHz = shapes.rates }
        if shapes.channelCounts != count...count { tracks[track].decodedChannelCounts = shapes.channelCounts }
    }
}

/// The lowest and the highest rate and number of channels of blocks: some files change them in the middle.
private struct DecodedShapes {
    let rates: ClosedRange<Int>
    let channelCounts: ClosedRange<Int>

    /// Those of `shape` and of the blocks before it.
    init(_ shape: SampleShape, with others: DecodedShapes?) {
        rates = Self.extended(others?.rates, to: shape.sampleRateHz)
        channelCounts = Self.extended(others?.channelCounts, to: shape.channelCount)
    }

    private static func extended(_ range: ClosedRange<Int>?, to value: Int) -> ClosedRange<Int> {
        min(range?.lowerBound ?? value, value)...max(range?.upperBound ?? value, value)
    }
}

extension TagReport {
    fileprivate init(_ tag: Tag) {
        self.init(
            name: tag.key,
            commonName: TagTable.row(key: tag.key)?.name == tag.name ? nil : tag.name,
            value: tag.value,
            values: tag.values.count > 1 ? tag.values : nil,
            isTechnical: tag.isTechnical
        )
    }
}

extension CoverReport {
    fileprivate init(_ picture: Picture, shows: String? = nil) {
        self.init(
            type: picture.mimeType,
            width: picture.width,
            height: picture.height,
            bytes: picture.bytes.count,
            shows: shows
        )
    }
}

extension TrackReport {
    fileprivate init(_ track: Track, isMain: Bool) {
        let layout = track.channelMask == 0 ? nil : ChannelLayout(mask: track.channelMask)?.description
        self.init(
            track: track.index,
            isMain: isMain,
            codec: track.codecName,
            sampleRateHz: track.sampleRateHz,
            channelCount: track.channelCount,
            layout: layout,
            bitDepth: track.isLossless ? track.bitDepth : nil,
            sampleKind: track.isLossless ? (track.isFloat ? .float : .integer) : nil,
            isLossless: track.isLossless,
            bitRate: track.bitRate,
            frames: track.plausibleFrames,
            exactness: track.plausibleFrames == nil
                ? .unknown : track.length.exactFrames != nil ? .exact : .estimated,
            delayFrames: track.primingFrames,
            paddingFrames: track.paddingFrames,
            isProtected: track.isProtected
        )
    }
}

extension PresetFit {
    fileprivate init(_ answer: PresetCompatibility) {
        let forecast = answer.compatibility.forecast
        self.init(
            preset: answer.preset.name,
            summary: answer.preset.summary,
            format: forecast?.format,
            frames: forecast?.frames,
            estimatedBytes: forecast?.size?.bytes,
            reasons: answer.compatibility.reasons.map(\.description),
            hints: answer.compatibility.reasons.compactMap(\.hint)
        )
    }
}
