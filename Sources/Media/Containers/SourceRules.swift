import Conversion

/// What is special about one container as a source. The defaults describe an ordinary container, which libav reads
/// right.
///
/// The demuxer picks the rules once, from libav's name of the container. All other code asks the rules and compares
/// no names. What is needed for each packet is in `packets`, a plain value. What only one container has stands in a
/// protocol beside that container, and the rules only say whether they are of that kind.
protocol SourceRules: Sendable {
    // MARK: Opening

    /// Follows what passes of a pipe, and cannot be asked for again.
    func follow(_ source: ByteSource)

    /// Whether a file that libav does not recognise, and that begins with `head`, is of this container. libav 7.1 does
    /// not recognise some headers whose sizes are zero.
    func recognises(_ head: [UInt8]) -> Bool

    /// Whether libav, too, takes every source that begins with `start` for this container. It need not be asked then,
    /// which would ask all of its demuxers and take a twentieth of the processor time of a short clip.
    func isCertain(_ start: [UInt8]) -> Bool

    /// The mark of encryption in a file that libav cannot open; `nil` if there is none.
    func protectionMark(in source: ByteSource) -> String?

    /// The number with which the header counts the bytes of the sound; `nil` if there is none.
    func soundCount(in source: ByteSource) -> SoundCount?

    /// What libav must see instead of `count`, so that it reads `bytes` of sound, or all of a pipe if that is `nil`.
    func restating(_ count: SoundCount, as bytes: Int64?, in source: ByteSource) -> [SourcePatch]

    /// What libav must see instead of bytes behind the counted sound that are no chunks.
    func hidingTrail(of count: SoundCount, in source: ByteSource) -> [SourcePatch]

    /// What libav must see in place of a header that it would misread. Throws if no header makes it read all sound.
    func headerPatches(in source: ByteSource) throws -> [SourcePatch]

    /// The syntax of the frames, if there is nothing but frames.
    var frameSyntax: FrameSyntax? { get }

    /// Whether samples of PCM fill the bytes that the header gives them, which libav does not know; `nil` if libav is right.
    func pcmWidth(in source: ByteSource) -> PCMWidth?

    /// The speakers of the channels, where libav may name them wrong; `nil` if libav is right. Only for codecs that leave
    /// it to the container.
    func speakers(of stream: InputStream, in source: ByteSource) -> SpeakerOrder?

    /// Whether the sound lies in front of what describes it, so that a pipe does not tell in time what it is.
    func describesSoundTooLate(_ source: ByteSource) -> Bool

    /// How libav opens the container.
    var opening: OpeningTraits { get }

    /// How many packets libav may ask its demuxers about, to find the codec of a stream.
    func packetsThatTellTheCodec(in source: ByteSource) -> Int

    // MARK: Tags

    /// Hides tags beyond the budget of `cap`. The ID3v2 tags at the start of the file have been capped already, and
    /// end at `start`.
    func capTags(_ cap: inout TagCap, from start: Int64)

    /// Collects the tags in a source of `size` bytes, with all values.
    func collectTags(in source: ByteSource, _ size: Int64, into collector: inout TagCollector)

    /// Whether tags stand in a row at both ends of the file: ID3v1, APE, Lyrics3.
    var hasTagBlocks: Bool { get }

    /// What a copy in the same container has as it is, in its bytes.
    func keptItems(in source: ByteSource) -> [UInt8]

    /// Names what a source of `size` bytes has beside its sound and no output gets.
    func findUnread(in source: ByteSource, _ size: Int64, _ parts: inout UnreadParts)

    // MARK: Facts

    /// Length and priming, where libav reads them wrong, rounded or not at all; `nil` if libav is right.
    func facts(of stream: InputStream, in demuxer: Demuxer) -> ContainerFacts?

    /// The length that libav states, and how reliable it is in this container.
    func length(_ stated: StatedLength, of stream: InputStream, in demuxer: Demuxer) -> LengthPromise

    // MARK: Points

    /// The marks, ranges and loops that the container states, in frames at its rate. Of a pipe, what was not given up.
    func statedPoints(in source: ByteSource) -> StatedPoints

    /// The chunks that an output in the same container has as they are; `nil` if there are none.
    func broadcast(in source: ByteSource) -> BroadcastChunks?

    /// The kind of marks that are chapters, of which libav sees none, or not where they begin; `nil` if none are.
    var chapterMarks: SourcePoint.Kind? { get }

    // MARK: Packets

    /// How libav delivers the packets.
    var packets: PacketTraits { get }

    /// The frames to drop from the first packet, where libav states others; `nil` if libav is right.
    func firstSkip(of packet: borrowing Packet, _ stream: InputStream, _ track: Track) -> (start: Int, end: Int)?

    // MARK: Ends

    /// Where the encoder's padding begins, if the container states it and libav does not cut the padding.
    func soundEnd(of track: Track, _ stream: InputStream) -> Int64?

    /// Whether the container's own size or count extends past the end of the source.
    func isCut(_ source: ByteSource, _ stream: InputStream) -> Bool

    /// Whether the source stops without the end that the container requires.
    func lacksEnd(_ source: ByteSource) -> Bool

    /// Whether a pipe, which has ended, has let pass sound or silence that libav leaves out. Of a file, opening shows it.
    func hasHiddenSound(_ source: ByteSource) -> Bool

    /// Whether the source proves that it is whole and holds no frame of sound. `false` if its end may be missing.
    func provesEmpty(_ source: ByteSource) -> Bool

    // MARK: What only some containers have

    /// For a container of boxes; `nil` for others.
    var movie: (any MovieRules)? { get }

    /// For a container of pages; `nil` for others.
    var paged: (any PagedRules)? { get }

    /// For numbered frames; `nil` for others.
    var numbered: (any NumberedRules)? { get }

    /// For blocks behind whose damage libav does not go on; `nil` for others.
    var blocks: (any BlockRules)? { get }
}

extension SourceRules {
    func follow(_ source: ByteSource) {}
    func recognises(_ head: [UInt8]) -> Bool { false }
    func isCertain(_ start: [UInt8]) -> Bool { false }
    func protectionMark(in source: ByteSource) -> String? { nil }
    func soundCount(in source: ByteSource) -> SoundCount? { nil }
    func restating(_ count: SoundCount, as bytes: Int64?, in source: ByteSource) -> [SourcePatch] { [] }
    func hidingTrail(of count: SoundCount, in source: ByteSource) -> [SourcePatch] { [] }
    func headerPatches(in source: ByteSource) throws -> [SourcePatch] { [] }
    var frameSyntax: FrameSyntax? { nil }
    func pcmWidth(in source: ByteSource) -> PCMWidth? { nil }
    func speakers(of stream: InputStream, in source: ByteSource) -> SpeakerOrder? { nil }
    func describesSoundTooLate(_ source: ByteSource) -> Bool { false }
    var opening: OpeningTraits { OpeningTraits() }
    func packetsThatTellTheCodec(in source: ByteSource) -> Int { 4 }

    func capTags(_ cap: inout TagCap, from start: Int64) { cap.capAPE() }
    func collectTags(in source: ByteSource, _ size: Int64, into collector: inout TagCollector) {
        ID3Frames.collect(in: source, at: 0, into: &collector)
        if collector.tags.texts.isEmpty { APEItems.collect(in: source, size, into: &collector) }
    }

    var hasTagBlocks: Bool { false }
    func keptItems(in source: ByteSource) -> [UInt8] { [] }
    func findUnread(in source: ByteSource, _ size: Int64, _ parts: inout UnreadParts) {}

    func facts(of stream: InputStream, in demuxer: Demuxer) -> ContainerFacts? { nil }
    func length(_ stated: StatedLength, of stream: InputStream, in demuxer: Demuxer) -> LengthPromise { .none }

    func statedPoints(in source: ByteSource) -> StatedPoints { StatedPoints() }
    func broadcast(in source: ByteSource) -> BroadcastChunks? { nil }
    var chapterMarks: SourcePoint.Kind? { nil }

    var packets: PacketTraits { PacketTraits() }
    func firstSkip(of packet: borrowing Packet, _ stream: InputStream, _ track: Track) -> (start: Int, end: Int)? {
        nil
    }

    func soundEnd(of track: Track, _ stream: InputStream) -> Int64? { nil }
    func isCut(_ source: ByteSource, _ stream: InputStream) -> Bool { false }
    func lacksEnd(_ source: ByteSource) -> Bool { false }
    func hasHiddenSound(_ source: ByteSource) -> Bool { false }
    func provesEmpty(_ source: ByteSource) -> Bool { false }

    var movie: (any MovieRules)? { nil }
    var paged: (any PagedRules)? { nil }
    var numbered: (any NumberedRules)? { nil }
    var blocks: (any BlockRules)? { nil }

    /// Whether everything that the source has was read, when libav gives no more packets.
    func isReadToEnd(_ source: ByteSource) -> Bool {
        packets.mayStopEarly ? lacksEnd(source) : source.isExhausted
    }
}

/// How libav opens a container.
struct OpeningTraits: Hashable {
    /// Whether the container states times. If not, libav need not wait for any.
    var statesTimes = true
    /// Whether libav must see the first packet before it knows the codec.
    var needsFirstPacket = false
    /// Whether libav calls a stream data before it has seen its packets, although it may be sound.
    var mayCallSoundData = false
    /// Whether libav returns to the start of the sound while it opens the container.
    var readsStartTwice = false
}

/// How libav delivers the packets of a container: what reading asks for each packet.
struct PacketTraits: Hashable {
    /// How exact the container's own times are; `nil` if they are derived from the count of frames anyway.
    var clock: ContainerClock?
    /// How to reach a later packet without reading those before it.
    var jump = Jump.byBytes
    /// How to return to a packet that was read before.
    var landing = Landing.byTime
    /// Whether packets can be returned to where parts of them are repeated.
    var mayLandInEdits = true
    /// Whether times are too coarse to count the frames of a packet.
    var timesAreRounded = false
    /// Whether libav also delivers tags.
    var mayBeTags = false
    /// Whether the packets state the frames to drop at their start, and not the decoder.
    var stateTheirSkip = false
    /// Whether one wrong number can shift all times after it.
    var mayShiftTogether = false
    /// Whether libav takes a first packet that only fills the decoder's window for sound.
    var countWindowFill = false
    /// Whether libav drops an incomplete last packet without a word.
    var lackIncompleteLast = false
    /// Whether libav may stop before the end of a source that lacks the end of the container.
    var mayStopEarly = false
    /// Whether sound may follow the length that the header states, because files were joined.
    var mayFollowTheEnd = false
    /// Frames at the end that may never leave the decoder, because the encoder wrote no packet behind them.
    var mayKeepAtEnd: Int64 = 0
    /// The tables in which the container states the frames of packets.
    var tables: PacketTables = []
    /// Whether each packet begins with an ADTS header.
    var beginWithADTSHeaders = false

    enum Landing {
        /// By its time. libav may land before it.
        case byTime
        /// By its place. libav keeps no state between packets.
        case byByte
        /// By the place of its page. libav must first forget what it has read of other pages.
        case byPage
    }

    enum Jump {
        /// Not at all: places are not certain.
        case never
        /// To a byte, if the sound is PCM, in which all frames have one size.
        case byBytes
        /// To a sample of the sample table.
        case byIndex
        /// To a frame that states its number.
        case byFrameNumber
    }
}

/// How a container states the time of its packets.
enum ContainerClock {
    /// In ticks that are rounded, or in times of arrival.
    case rounded
    /// In frames, once per page.
    case pages
    /// In frames, in each packet.
    case frameNumbers
}

/// The length of a stream according to libav.
struct StatedLength {
    /// Frames, if the length is a whole number of them; otherwise zero.
    let exact: Int64
    /// The nearest number of frames.
    let near: Int64
}

/// An ordinary container.
struct OrdinaryContainer: SourceRules {}
