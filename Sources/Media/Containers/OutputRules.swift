import Conversion

/// What is special about one container as an output. The defaults describe a container into which libav writes packets
/// as they are, with any tags, and right.
protocol OutputRules: Sendable {
    // MARK: Muxing

    /// libav's name of the muxer.
    func muxerName(_ format: ResolvedFormat) -> String

    /// The options of the muxer.
    func muxerOptions(_ format: ResolvedFormat) -> [(String, String)]

    /// Further options for copied packets with `priming` frames before the sound.
    func copyOptions(priming: Int64) -> [(String, String)]

    /// The seek table of a source, for an output with the same packets; `nil` if the output has none.
    func seekTable(of source: ByteSource) -> FLACSeekTable?

    /// The codec tag that the muxer needs; `nil` if it chooses the right one.
    func codecTag(_ format: ResolvedFormat) -> UInt32?

    /// Whether the samples and their tables are written here and not by libav (`MP4Assembler`).
    var assemblesSamples: Bool { get }

    /// Whether nothing but samples is written.
    var isHeaderless: Bool { get }

    /// Whether the output can be written strictly in order.
    var canStream: Bool { get }

    /// Whether a file without frames is readable.
    var mayBeEmpty: Bool { get }

    // MARK: Priming and padding

    /// Frames of silence to put before the sound, so that the container can state where the sound begins.
    func leadInFrames(_ format: ResolvedFormat, _ encoder: borrowing Encoder) -> Int

    /// How the packets of `encoder` are marked.
    func marking(_ format: ResolvedFormat, _ encoder: borrowing Encoder) throws -> PacketSink.Marking

    /// How copied packets of `codec` are marked, and what the container can state about them.
    func copying(_ codec: Codec) -> CopyTraits

    /// Whether the container can state that parts of the packets are played, with others between them.
    var playsParts: Bool { get }

    /// The frames that `frames` of sound decode to.
    func decodedFrames(of frames: Int64) -> Int64

    /// Corrects what libav 5.1 wrote wrong into the finished output, and adds what it left out. An output that is not
    /// as expected is a failure, never a guess. A stream cannot be corrected.
    func patch(_ sink: ByteSink, _ format: ResolvedFormat, _ facts: WrittenFacts) throws

    // MARK: Tags

    /// The format of the tags; `nil` if libav converts its own names to those of the container.
    var tagFormat: TagFormat? { get }

    /// Whether several values of a tag that libav calls `name` stay apart. Otherwise they are one text, with `;` between
    /// them.
    func keepsValues(of name: String) -> Bool

    /// What stands in front of all that libav writes: a tag. `tags` are those of `options` that are to be written.
    func front(_ tags: [Tag], _ options: Writer.Options) -> [UInt8]

    /// Chapters as further tags.
    func chapterTags(_ chapters: [Chapter]) -> [Tag]

    /// Whether libav writes the chapters.
    var givesChaptersToLibAV: Bool { get }

    /// The last frame at which a chapter may begin.
    var lastChapterFrame: Int64 { get }

    /// The tags that libav must have, as it must have them, so that `patch` can complete them.
    func prepared(_ tags: [Tag]) -> [Tag]

    /// Whether libav must have the tags on the stream, and not on the file.
    var putsTagsOnStream: Bool { get }

    /// Whether a tag may have this name, which is one of `tagFormat`.
    func takes(name: String) -> Bool

    /// Whether the container has kinds of pictures. If it has none, or only names of files, the first one is the cover.
    var statesPictureKinds: Bool { get }

    /// The room for pictures beside `tags`. What is larger is not written, or programs do not read it.
    func pictureRoom(beside tags: [Tag]) -> PictureRoom
}

extension OutputRules {
    func muxerOptions(_ format: ResolvedFormat) -> [(String, String)] { [] }
    func copyOptions(priming: Int64) -> [(String, String)] { [] }
    func seekTable(of source: ByteSource) -> FLACSeekTable? { nil }
    func codecTag(_ format: ResolvedFormat) -> UInt32? { nil }
    var assemblesSamples: Bool { false }
    var isHeaderless: Bool { false }
    var canStream: Bool { false }
    var mayBeEmpty: Bool { true }

    func leadInFrames(_ format: ResolvedFormat, _ encoder: borrowing Encoder) -> Int { 0 }
    func marking(_ format: ResolvedFormat, _ encoder: borrowing Encoder) throws -> PacketSink.Marking { .none }
    func copying(_ codec: Codec) -> CopyTraits { CopyTraits() }
    var playsParts: Bool { false }
    func decodedFrames(of frames: Int64) -> Int64 { frames }
    func patch(_ sink: ByteSink, _ format: ResolvedFormat, _ facts: WrittenFacts) throws {}

    var tagFormat: TagFormat? { nil }
    func front(_ tags: [Tag], _ options: Writer.Options) -> [UInt8] { [] }
    func chapterTags(_ chapters: [Chapter]) -> [Tag] { [] }
    var givesChaptersToLibAV: Bool { false }
    var lastChapterFrame: Int64 { .max }
    func keepsValues(of name: String) -> Bool { false }
    func prepared(_ tags: [Tag]) -> [Tag] { NativeTags(tags, in: tagFormat).tags }
    var putsTagsOnStream: Bool { false }
    func takes(name: String) -> Bool { true }
    var statesPictureKinds: Bool { true }
    func pictureRoom(beside tags: [Tag]) -> PictureRoom { PictureRoom() }

    /// Whether an output has a place for a tag under the name that it has there.
    func takes(_ tag: Tag) -> Bool { NativeTags([tag], in: tagFormat).texts.allSatisfy { takes(name: $0.name) } }
}

extension ResolvedFormat {
    /// What is special about the format's container.
    var rules: any OutputRules { ContainerRegistry.rules(writing: container) }
}

/// How copied packets are marked, and what a container can state about them.
struct CopyTraits: Hashable {
    var marks = Marks.duration
    var trims = Trims.none
    /// Whether all packets but the last must have the same length.
    var needEqualPackets = false
    /// Whether the packets keep their ADTS headers.
    var keepADTSHeaders = false
    /// Whether the gain that an Opus header states is lost.
    var loseOpusGain = false

    /// How the frames that are not sound are marked.
    enum Marks {
        /// By the packet's duration.
        case duration
        /// As `duration`. libav reads a short Ogg Vorbis file correctly only if the sound does not begin on the last
        /// page, so the page ends early.
        case durationOnPages
        /// By a trim at the packet's end.
        case end
        /// As `end`, except in the first packet, which gives no sound.
        case endBehindFirst
        /// By a trim at one end. One at the start is written as one at the end, and the patch then turns it.
        case eitherEnd
        /// By the numbers at each packet, from which libav makes the LAME tag.
        case lameTag
    }

    /// How much priming and padding the container can state.
    enum Trims {
        case none
        /// Priming up to 65,535 frames, and any padding.
        case sixteenBits
        /// One end of each packet.
        case oneEnd
        /// What a LAME tag can hold.
        case lameTag
    }
}

/// What `OutputRules.patch` needs to know about a finished output.
struct WrittenFacts {
    let frames: Int64
    let delay: Int
    let tags: [Tag]
    /// The copied packet that is trimmed at its start.
    var trimmedPacket: Int?
    var pictures: [Picture] = []
    var chapters: [Chapter] = []
    var broadcast: [FurtherChunks.Chunk] = []
    /// Items of an MP4 source, in their bytes.
    var items: [UInt8] = []
    var seekTable: FLACSeekTable?
    /// The parts of the packets that are played, in frames of all packets, if there are several; else empty.
    var parts: [Range<Int64>] = []
}

extension ByteSink {
    /// The error for a finished output that differs from what libav is known to write: failing is better than guessing.
    func malformed(_ what: String) -> MediaError {
        MediaError(.frameCountMismatch, at: .finish, "the written container has an unexpected structure: \(what)")
    }
}
