package import Conversion

/// Finds the points in the sound of a track, block by block, in memory that does not grow with its length. The points
/// that the file states are added at the end.
package struct PointFinder {
    private let rules: PointRules
    private let rate: Int
    private let bitDepth: Int
    private let level: Double
    private var stated = StatedPoints()
    private var samples = ChannelSamples()
    /// The number of loud channels of each frame of the block.
    private var loud: [Int] = []
    private var silences: SilenceRuns
    private var ending: EndingFinder
    private var channels: [ChannelFinders] = []
    private var pairs: [EqualChannelsFinder] = []
    private var shape: SampleShape?
    /// Where the present format begins, and the sound so far ends.
    private var formatStart: Int64 = 0
    private var end: Int64 = 0

    private struct ChannelFinders {
        let number: Int
        var clipping: ClippingFinder
        var dropouts: DropoutFinder
        var silence: SilentChannelFinder
        var offset = OffsetMeter()
    }

    package init(_ rules: PointRules, track: Track) {
        self.rules = rules
        rate = track.sampleRateHz
        bitDepth = track.bitDepth
        level = rules.silence.threshold.amplitude
        silences = SilenceRuns(shortest: PointRules.frames(rules.silence.shortest, rate))
        ending = EndingFinder(rate: rate, silence: level)
    }

    /// Examines the next samples of the track, in any format and at any rate. `filling` says what they stand for if they
    /// are silence that the source does not have.
    package mutating func add(_ block: borrowing SampleBlock, filling: TrackOutput.Filling? = nil) {
        guard let shape = block.shape, block.frameCount > 0, shape.channelCount > 0 else { return }
        let clock = BlockClock(position: block.position, blockRate: shape.sampleRateHz, rate: rate)
        // The format of such silence is made up.
        if let filling { return pass(filling, to: clock.frame(block.frameCount)) }
        // At another rate, a block may begin a fraction of a frame behind the last one.
        if block.position > end + 1 { pass(.loss, to: block.position) }
        if shape != self.shape { begin(shape, at: block.position) }
        end = max(end, clock.frame(block.frameCount))
        samples.fill(from: block)
        count(frames: block.frameCount)
        silences.add(loud, clock, to: &stated)
        ending.add(samples.channels, clock)
        for index in channels.indices {
            let values = samples.channels[index]
            channels[index].clipping.add(values, clock, to: &stated)
            channels[index].dropouts.add(values, clock, to: &stated)
            channels[index].offset.add(values)
            if channels.count > 1 { channels[index].silence.add(values, loud, clock, to: &stated) }
        }
        for index in pairs.indices {
            pairs[index].add(samples.channels[index], samples.channels[index + 1], clock, to: &stated)
        }
    }

    /// Goes on at `place`. The source has no sound between the end so far and there: runs of samples do not reach across.
    private mutating func pass(_ filling: TrackOutput.Filling, to place: Int64) {
        switch filling {
        case .loss: silences.finish(&stated)
        case .pause: silences.mark(end, upTo: place)
        }
        for index in channels.indices {
            channels[index].clipping.finish(at: end, to: &stated)
            channels[index].dropouts.startOver()
        }
        ending.pass(from: end, to: place)
        end = max(end, place)
    }

    /// Counts the loud channels of each frame.
    private mutating func count(frames: Int) {
        if loud.count != frames { loud = [Int](repeating: 0, count: frames) }
        for (index, values) in samples.channels.enumerated() {
            for frame in 0..<frames {
                let isLoud = !(abs(values[frame]) <= level)
                loud[frame] = (index == 0 ? 0 : loud[frame]) + (isLoud ? 1 : 0)
            }
        }
    }

    // MARK: Formats

    private mutating func begin(_ shape: SampleShape, at place: Int64) {
        if let before = self.shape, !before.hasFormat(of: shape) {
            let text = "\(before.words) to \(shape.words)"
            stated.add(SourcePoint(.formatChange, at: place, text: text))
        }
        finishChannels(at: place)
        (self.shape, formatStart) = (shape, place)
        let dropouts = PointRules.frames(rules.shortestDropout, rate)
        let longest = max(dropouts, PointRules.frames(rules.longestDropout, rate))
        let edge = PointRules.frames(rules.dropoutEdge, rate)
        let limit = ClippingFinder.limit(of: shape, bitDepth: bitDepth)
        let gap = PointRules.frames(rules.clippedGap, rate)
        let shortest = PointRules.frames(rules.shortestChannelRun, rate)
        channels = (1...shape.channelCount).map { number in
            ChannelFinders(
                number: number,
                clipping: ClippingFinder(limit: limit, fewest: rules.clippedSamples, gap: gap, channel: number),
                dropouts: DropoutFinder(
                    level: level,
                    limit: limit,
                    lengths: dropouts...longest,
                    edge: edge,
                    channel: number
                ),
                silence: SilentChannelFinder(level: level, shortest: shortest, channel: number)
            )
        }
        pairs = (1..<shape.channelCount).map {
            EqualChannelsFinder(level: level, shortest: shortest, channels: [$0, $0 + 1])
        }
    }

    private mutating func finishChannels(at place: Int64) {
        for index in channels.indices {
            channels[index].clipping.finish(at: place, to: &stated)
            channels[index].silence.finish(&stated)
            let mean = channels[index].offset.mean
            guard abs(mean) >= rules.leastOffset, place > formatStart else { continue }
            let number = channels[index].number
            let frames = place - formatStart
            stated.add(SourcePoint(.offset, at: formatStart, frames: frames, channels: [number], value: mean))
        }
        for index in pairs.indices { pairs[index].finish(&stated) }
    }

    // MARK: The end

    /// All points, when the track was read to its end.
    package mutating func finish(_ reader: Reader, _ track: Track, damage: DamageAccount) -> PointReport {
        finishChannels(at: end)
        (channels, pairs) = ([], [])
        silences.finish(&stated)
        if let sound = silences.sound {
            stated.add(SourcePoint(.soundStart, at: sound.lowerBound))
            stated.add(SourcePoint(.soundEnd, at: sound.upperBound))
            if let place = ending.place(drop: rules.endingDropDB, end: end), place < sound.upperBound {
                stated.add(SourcePoint(.ending, at: place, frames: sound.upperBound - place))
            }
        }
        var all = stated
        for stretch in damage.stretches {
            let text = stretch.code.rawValue
            all.add(SourcePoint(.damage, at: stretch.start, frames: stretch.frames, text: text))
        }
        all.addUnread(Int64(damage.stretchCount - damage.stretches.count), .damage)
        all.add(ContainerPoints.read(reader, track))
        return all.report(rate: rate, frames: end)
    }
}

extension SampleShape {
    /// Whether the other has the same rate and channels. The samples themselves do not matter.
    fileprivate func hasFormat(of other: SampleShape) -> Bool {
        sampleRateHz == other.sampleRateHz && channelCount == other.channelCount && channelMask == other.channelMask
    }

    fileprivate var words: String {
        let layout = channelMask == 0 ? nil : ChannelLayout(mask: channelMask)?.description
        return "\(Figures.hertz(sampleRateHz)) \(layout ?? Figures.count(channelCount, "channel"))"
    }
}

extension StatedPoints {
    /// The points in order. Those in several channels at one place become one, and those that the file states behind its
    /// end are only counted.
    func report(rate: Int, frames: Int64) -> PointReport {
        var outside: Int64 = 0
        var places: [SourcePoint: Int] = [:]
        var inside: [SourcePoint] = []
        for var point in points {
            guard (0...frames).contains(point.frame) else {
                outside += 1
                continue
            }
            point.frames = min(max(0, point.frames), frames - point.frame)
            guard point.kind == .clipping || point.kind == .dropout else {
                inside.append(point)
                continue
            }
            var key = point
            (key.channels, key.value) = ([], nil)
            if let place = places[key] {
                // A finder tells of a point when the next one begins, which may be later in the first channel.
                inside[place].channels = (inside[place].channels + point.channels).sorted()
                inside[place].value = point.value.map { $0 + (inside[place].value ?? 0) }
            } else {
                places[key] = inside.count
                inside.append(point)
            }
        }
        var found: [String: Int64] = [:]
        let kept: [SourcePoint.Kind: Int64] = points.reduce(into: [:]) { $0[$1.kind, default: 0] += 1 }
        for (kind, count) in counts where count > kept[kind, default: 0] { found[kind.rawValue] = count }
        return PointReport(
            sampleRateHz: rate,
            frames: frames,
            points: inside.sorted(),
            found: found,
            outside: outside
        )
    }
}
