/// Musepack, in its stream versions 7 and 8.
struct Musepack: SourceRules {
    let isVersion8: Bool

    /// The decoder delay in frames, which every Musepack decoder has.
    fileprivate static let decoderDelay = 481
    fileprivate static let packetFrames: Int64 = 1152

    let packets = PacketTraits(mayKeepAtEnd: Int64(Musepack.decoderDelay))

    /// The stream header states the samples, and in version 8 the silent ones at the start. libav honours neither, nor the
    /// decoder delay.
    func facts(of stream: InputStream, in demuxer: Demuxer) -> ContainerFacts? {
        guard let header = isVersion8 ? MusepackHeader(demuxer.source) : MusepackHeader(version7: demuxer.source) else {
            return nil
        }
        let priming = Self.decoderDelay + Int(header.silence)
        // A header that was written first does not know the total.
        guard header.samples > header.silence else { return ContainerFacts(primingFrames: priming, isOpenEnded: true) }
        return ContainerFacts(primingFrames: priming, soundFrames: header.samples - header.silence)
    }

    func length(_ stated: StatedLength, of stream: InputStream, in demuxer: Demuxer) -> LengthPromise {
        .about(stated.near, tolerance: 2 * Self.packetFrames, unlessZero: true)
    }

    /// libav reads on past the samples.
    func soundEnd(of track: Track, _ stream: InputStream) -> Int64? { track.length.exactFrames }
}

/// The stream header of Musepack, which is a packet among the first ones in version 8, and the start of the stream in
/// version 7.
struct MusepackHeader {
    /// Samples of each channel, silent ones included; zero if unknown.
    let samples: Int64
    /// Samples at the start that are not sound.
    let silence: Int64

    private static let mostPackets = 64

    /// `nil` if there is none, and in a pipe if it does not lie at the start.
    init?(_ source: ByteSource) {
        var place = TagBlocks.end(in: source, before: source.size ?? .max)
        guard let mark = source.bytes(at: place, count: 4), mark.elementsEqual("MPCK".utf8) else { return nil }
        place += 4
        for _ in 0..<Self.mostPackets {
            guard let bytes = source.bytes(at: place, count: 64), bytes.count > 3 else { return nil }
            var reader = Numbers(bytes: bytes, place: 2)
            // The size counts all of the packet.
            guard let size = reader.next(), size > 2 else { return nil }
            guard bytes[..<2].elementsEqual("SH".utf8) else {
                place = place.addingSaturated(size)
                continue
            }
            // A checksum and a version lie in between.
            reader.place += 5
            guard let samples = reader.next(), let silence = reader.next(), silence < 1 << 20 else { return nil }
            (self.samples, self.silence) = (samples, silence)
            return
        }
        return nil
    }

    /// The same of version 7. It states the packets, and since encoder 1.15 also the samples of the last one.
    init?(version7 source: ByteSource) {
        let place = TagBlocks.end(in: source, before: source.size ?? .max)
        guard let bytes = source.bytes(at: place, count: 24), bytes.count == 24, bytes.starts(with: "MP+".utf8),
            bytes[3] & 0x0F == 7
        else { return nil }
        let packets = littleEndian(bytes[4..<8])
        let end = littleEndian(bytes[20..<24])
        let (isGapless, last) = (end >> 31 == 1, end >> 20 & 0x7FF)
        guard packets > 0 else { return nil }
        // Zero stands for a whole packet. Without the count, the samples end with what the decoder gives of the packets.
        let rest = isGapless ? (last == 0 ? 0 : Musepack.packetFrames - last) : Int64(Musepack.decoderDelay)
        guard (0...Musepack.packetFrames).contains(rest) else { return nil }
        (samples, silence) = (packets * Musepack.packetFrames - rest, 0)
    }

    /// Numbers of variable length: seven bits per byte, and the top bit says that another byte follows.
    private struct Numbers {
        let bytes: [UInt8]
        var place: Int

        mutating func next() -> Int64? {
            var value: Int64 = 0
            for _ in 0..<8 {
                guard bytes.indices.contains(place) else { return nil }
                value = value << 7 | Int64(bytes[place] & 0x7F)
                place += 1
                if bytes[place - 1] & 0x80 == 0 { return value }
            }
            return nil
        }
    }
}
