import Conversion

/// The packets of several sources, one source after another, for one track of an output.
///
/// What encoders put before and after the sound of each source stays between the packets, marked as no sound. So the first
/// packet of each source behind a join is priming, as the codec requires, and a decoder that has decoded the packet before
/// it gives the same sound behind it as at the start of a file. One source is read at a time.
final class JoinedPackets: PacketSource {
    let described: PacketOutput
    let plannedFrames: Int64
    /// Remarks about the sources that have been copied, each once.
    private(set) var remarks: [Remark] = []

    private let sources: [SoundSources.Source]
    private var place = 0
    private var current: PacketOutput
    /// The frames of the sources that are over.
    private var framesBefore: Int64 = 0
    private var isAtStart = true

    /// Throws `passthrough_refused` with the reason if the packets of `sources` cannot follow one another.
    init(_ sources: [SoundSources.Source]) throws {
        if let refusal = Self.refusal(of: sources) { throw refusal }
        try Self.requirePriming(of: sources.dropFirst())
        self.sources = sources
        plannedFrames = sources.reduce(0) { $0 + $1.frames }
        described = try Self.open(sources[0])
        current = described
    }

    var deliveredFrames: Int64 { framesBefore + current.deliveredFrames }
    var promisedFrames: Int64? { plannedFrames }
    var hasParts: Bool { true }
    var isInLastSource: Bool { place == sources.count - 1 }
    /// The frames of each packet.
    var packetFrames: Int64 { Int64(max(1, described.demuxer.streams[described.track.index].frameSize)) }
    /// The number of sources.
    var count: Int { sources.count }

    func next(into packet: inout Packet) throws -> Bool {
        while try !current.next(into: &packet) {
            guard current.deliveredFrames == sources[place].frames else {
                throw MediaError.lengthChanged(sources[place])
            }
            for remark in current.remarks where !remarks.contains(remark) { remarks.append(remark) }
            guard !isInLastSource else { return false }
            framesBefore += current.deliveredFrames
            place += 1
            current = try Self.open(sources[place])
            isAtStart = true
        }
        // `init` has looked. A source can be written meanwhile.
        if isAtStart, place > 0, !Self.isPriming(packet) { throw Self.refusal(sources[place], Self.lackOfPriming) }
        isAtStart = false
        return true
    }

    private static func open(_ source: SoundSources.Source) throws -> PacketOutput {
        let reader = try Reader(descriptor: source.descriptor, options: source.options)
        return try reader.packets(of: try reader.track(source.track.index))
    }

    // MARK: Refusals

    /// Sources in one output. Their edit list must not exceed the MiB that readers take, in its wide form with 20 bytes for
    /// each of them.
    static let most = 50_000

    private static let lackOfPriming = "it does not begin with a packet of priming, so the join would be heard"

    /// Why the packets cannot follow one another; `nil` if they can.
    private static func refusal(of sources: [SoundSources.Source]) -> MediaError? {
        guard let first = sources.first else { return nil }
        guard sources.count <= most else {
            let count = Plural.count(sources.count, "piece")
            return MediaError(.passthroughRefused, at: .open, "\(count) are too many for one edit list")
        }
        var shared: [UInt8]?
        for (index, source) in sources.enumerated() {
            let track = source.track
            guard source.reader.isSeekable else { return refusal(source, "it is a pipe") }
            guard source.reader.demuxer.rules.movie != nil else { return refusal(source, "it is not MP4, M4A or M4B") }
            guard track.edits == nil else { return refusal(source, "its edit list plays parts of its packets") }
            let stream = source.reader.demuxer.streams[track.index]
            switch track.codec.joining(of: stream) {
            case .refused(let reason): return refusal(source, reason)
            case .behindPriming(let configuration):
                let isSame =
                    track.sampleRateHz == first.track.sampleRateHz && track.channelCount == first.track.channelCount
                    && track.channelMask == first.track.channelMask && configuration == shared ?? configuration
                guard isSame else {
                    return refusal(source, "it has another rate, other channels or other settings than the first file")
                }
                shared = configuration
            }
            if index > 0, stream.frameSize == 0 || (track.primingFrames ?? 0) < stream.frameSize {
                return refusal(source, lackOfPriming)
            }
        }
        return nil
    }

    /// Throws `passthrough_refused` if the first packet of a source is not priming. What a container states of its track need not
    /// be what is marked in its packets, and a conversion that has begun can no longer encode.
    private static func requirePriming(of sources: ArraySlice<SoundSources.Source>) throws {
        var packet = try Packet()
        var seen: Set<String> = []
        for source in sources where seen.insert(source.name).inserted {
            guard try open(source).next(into: &packet), !isPriming(packet) else { continue }
            throw refusal(source, lackOfPriming)
        }
    }

    /// Whether no frame of the packet is sound.
    private static func isPriming(_ packet: borrowing Packet) -> Bool { Int64(packet.skip.start) >= packet.duration }

    private static func refusal(_ source: SoundSources.Source, _ reason: String) -> MediaError {
        MediaError(
            .passthroughRefused,
            at: .open,
            "the packets of \(source.name) cannot be joined to others: \(reason)",
            hint: "name a codec to encode the sound: --codec aac"
        )
    }
}
