/// A packet of a track from which decoding can continue as if everything before it had been decoded.
struct SeekMark {
    /// The packet at which decoding begins, some packets earlier, so that the decoder's state has settled.
    let start: PacketKey
    /// The packet itself.
    let entry: PacketKey
    /// The frames to drop from it, if it states any.
    let skip: (start: Int, end: Int)?
    /// Where the output was, and what it knew, before the packet.
    let clock: TrackClock
    let journal: DamageJournal.State
    let feed: PacketFeed.State
    /// Whether this is the first packet of the track.
    var isFirst = false
}

/// Limits of what random access keeps.
struct SeekRules: Sendable, Hashable {
    /// The most marks in a track. Each takes about a kibibyte.
    var mostMarks = 2048
    /// The most packets that are remembered to find the one at which decoding must begin.
    var mostPackets = 2048
    /// Frames that every decoder needs before its output counts as exact; `nil` for what is known of the codec.
    var preroll: Int64?
}

/// Marks in a track, made while its packets are read for the first time. The longer the track is, the farther apart
/// they are.
struct SeekIndex {
    /// Sorted by place.
    private(set) var marks: [SeekMark] = []
    /// Least distance of two marks in frames.
    private(set) var spacing: Int64 = 1 << 15
    /// The packets read last, oldest first, from a place in `recent` on that moves.
    private var recent: [Recent] = []
    private var oldest = 0
    /// Whether `recent` goes back to the first packet of the track.
    private var reachesStart = false
    /// Whether the next packet is the first of the track.
    private var isAtStart = false
    /// Frames that the decoder needs before its output is exact; `nil` if it never is.
    private let preroll: Int64?
    /// Whether a packet changed the codec's headers. A decoder that begins behind it lacks them.
    private(set) var isStopped = false
    private var beginsAnew = false
    private let isBare: Bool
    /// Whether seeks lead to pages, which hold several packets.
    private let isPaged: Bool
    private let rules: SeekRules
    /// Marks that could not be reached.
    private var failures = 0
    private static let mostFailures = 4

    private struct Recent {
        let key: PacketKey
        /// The frames before the packet.
        let frames: Int64
        /// Whether a seek can lead to it: several packets may share one place.
        let isLandable: Bool
    }

    /// `isBare` says that there is no container. Without `preroll`, only the first packet is marked.
    init(preroll: Int64?, isBare: Bool, isPaged: Bool, _ rules: SeekRules) {
        (self.preroll, self.isBare, self.isPaged, self.rules) = (rules.preroll ?? preroll, isBare, isPaged, rules)
    }

    /// Whether decoding can begin in the middle at all.
    var isExact: Bool { preroll != nil }

    /// Makes all marks useless, because libav reads the first page differently after a seek.
    mutating func beginAnew() { beginsAnew = true }

    /// The last mark at or before `frame`.
    func last(upTo frame: Int64) -> SeekMark? {
        if beginsAnew { return nil }
        let behind = marksUpTo(frame)
        return behind > 0 ? marks[behind - 1] : nil
    }

    /// Forgets a mark that cannot be reached. After a few of them, no other is tried.
    mutating func remove(_ mark: SeekMark) {
        failures += 1
        if failures >= Self.mostFailures {
            marks.removeAll()
            stop()
        }
        marks.removeAll { $0.clock.place == mark.clock.place && $0.entry == mark.entry }
    }

    private func marksUpTo(_ frame: Int64) -> Int {
        var (low, high) = (0, marks.count)
        while low < high {
            let middle = (low + high) / 2
            if marks[middle].clock.place <= frame { low = middle + 1 } else { high = middle }
        }
        return low
    }

    // MARK: Reading

    /// Notes the packet that was read at `frames` frames after the start of the source.
    mutating func note(_ packet: borrowing Packet, at frames: Int64) {
        let isFirst = isAtStart
        isAtStart = false
        guard !isStopped else { return }
        if packet.changesHeaders, !isFirst {
            isStopped = true
            return
        }
        guard preroll != nil else { return }
        let key = PacketKey(packet, isBare: isBare)
        let isLandable = key.place == nil ? key.time != nil : recent.isEmpty || latest.key.place != key.place
        let entry = Recent(key: key, frames: frames, isLandable: isLandable)
        if recent.count < rules.mostPackets {
            recent.append(entry)
        } else {
            recent[oldest] = entry
            oldest = (oldest + 1) % recent.count
            reachesStart = false
        }
    }

    private var latest: Recent { recent[(oldest + recent.count - 1) % recent.count] }

    /// Notes that the next packet does not follow the last one. `isFirst` if it is the first packet of the track.
    mutating func noteJump(toFirst isFirst: Bool = false) {
        recent.removeAll(keepingCapacity: true)
        oldest = 0
        (reachesStart, isAtStart) = (isFirst, isFirst)
    }

    /// Notes that the codec's headers changed: from here on, only reading on gives the right samples.
    mutating func stop() { isStopped = true }

    // MARK: Marking

    /// Whether a mark before the next packet, at `frame` of the sound and `frames` after the start of the source, is of
    /// use and possible.
    func wants(_ frame: Int64, at frames: Int64) -> Bool {
        if marks.isEmpty, isAtStart { return !isStopped }
        guard !isStopped, let preroll else { return false }
        let behind = marksUpTo(frame)
        guard behind == 0 || frame - marks[behind - 1].clock.place >= spacing,
            behind == marks.count || marks[behind].clock.place - frame >= spacing
        else { return false }
        return preroll == 0 && !isPaged || start(for: frames) != nil
    }

    /// Where decoding must begin to be exact at the packet that lies `frames` after the start of the source.
    private func start(for frames: Int64) -> PacketKey? {
        guard let preroll else { return nil }
        var skipsPage = isPaged
        for number in stride(from: recent.count - 1, through: 0, by: -1) {
            let entry = recent[(oldest + number) % recent.count]
            guard entry.isLandable else { continue }
            // libav trims the last page by the position of the page before it.
            if entry.frames <= frames - preroll, !skipsPage { return entry.key }
            skipsPage = false
        }
        return reachesStart ? recent.first.map { $0.key } : nil
    }

    /// Adds a mark before the packet `entry`, which lies `frames` after the start of the source.
    mutating func add(
        _ entry: borrowing Packet,
        at frames: Int64,
        _ clock: TrackClock,
        _ journal: DamageJournal.State,
        _ feed: PacketFeed.State
    ) {
        let key = PacketKey(entry, isBare: isBare)
        let isFirst = marks.isEmpty && isAtStart
        let isLandable = isBare || recent.isEmpty || key.place != latest.key.place
        let startsHere = preroll == 0 && isLandable && key.place != nil && !isPaged
        guard let start = isFirst || startsHere ? key : start(for: frames) else {
            return
        }
        let mark = SeekMark(
            start: start,
            entry: key,
            skip: entry.hasSkip ? entry.skip : nil,
            clock: clock,
            journal: journal,
            feed: feed,
            isFirst: isFirst
        )
        marks.insert(mark, at: marksUpTo(clock.place))
        if marks.count >= rules.mostMarks { thin() }
    }

    /// Doubles the distance of the marks.
    private mutating func thin() {
        spacing *= 2
        var kept: [SeekMark] = []
        for mark in marks where kept.isEmpty || mark.clock.place - kept.last!.clock.place >= spacing {
            kept.append(mark)
        }
        marks = kept
    }
}
