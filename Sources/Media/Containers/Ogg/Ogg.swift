import Conversion

/// Ogg.
struct Ogg: ContainerRules, PagedRules {
    let packets = PacketTraits(clock: .pages, jump: .never, landing: .byPage, countWindowFill: true)

    func isCertain(_ start: [UInt8]) -> Bool {
        start.count > 27 && start.starts(with: Array("OggS".utf8) + [0]) && start[5] <= 7
    }

    // MARK: Tags

    func capTags(_ cap: inout TagCap, from start: Int64) { cap.capOgg() }

    func collectTags(in source: ByteSource, _ size: Int64, into collector: inout TagCollector) {
        if let comments = VorbisComments.inOgg(source, size) { VorbisComments.collect(in: comments, into: &collector) }
    }

    // MARK: Facts

    func facts(of stream: InputStream, in demuxer: Demuxer) -> ContainerFacts? {
        OggFacts.onlyVorbisPage(demuxer) ?? OggFacts.excerpt(demuxer, stream) ?? OggFacts.flacHeader(demuxer, stream)
    }

    /// The last page of a chained stream covers only the last link, so nothing is promised. In an excerpt it counts too
    /// much.
    func length(_ stated: StatedLength, of stream: InputStream, in demuxer: Demuxer) -> LengthPromise {
        let preSkip = Int64(stream.codec.preSkip(of: stream) ?? 0)
        if stated.exact > preSkip, stream.startsAtZero, OggEnd.isOfFirstStream(demuxer.source) {
            return .exact(stated.exact - preSkip)
        }
        if demuxer.hasOneStream, OggEnd.isOfLaterStream(demuxer.source) { return .none }
        let sound = stated.near - Int64(stream.codecDelay ?? 0)
        return .about(
            demuxer.hasOneStream ? sound : 0,
            tolerance: Int64(stream.sampleRateHz),
            unlessZero: true
        )
    }

    // MARK: Packets and ends

    var paged: (any PagedRules)? { self }

    func pages(of source: ByteSource) -> OggPages { OggPages(source) }

    func provesEmpty(_ source: ByteSource) -> Bool { OggEnd.isOfEmptyStream(source) }

    func lacksEnd(_ source: ByteSource) -> Bool { !OggEnd.isThere(in: source) }
}

/// As an output.
extension Ogg {
    func muxerName(_ format: ResolvedFormat) -> String { "ogg" }

    func marking(_ format: ResolvedFormat, _ encoder: borrowing Encoder) throws -> PacketSink.Marking {
        format.codec == .vorbis ? .oggVorbisPages : .none
    }

    func copying(_ codec: Codec) -> CopyTraits {
        switch codec {
        case .vorbis: CopyTraits(marks: .durationOnPages, trims: .sixteenBits)
        case .opus: CopyTraits(trims: .sixteenBits)
        default: CopyTraits()
        }
    }

    var putsTagsOnStream: Bool { true }

    var tagFormat: TagFormat? { .vorbis }

    func keepsValues(of name: String) -> Bool { true }

    func takes(name: String) -> Bool { VorbisComments.takes(name: name) }

    func chapterTags(_ chapters: [Chapter]) -> [Tag] { CommentChapters.tags(chapters) }

    func prepared(_ tags: [Tag]) -> [Tag] { CommentValues.joined(NativeTags(tags, in: .vorbis).tags) }

    /// With all texts that are read of a source, they fill no more pages than are read of headers.
    func pictureRoom(beside tags: [Tag]) -> PictureRoom { PictureRoom(all: 32 << 20) }

    func patch(_ sink: ByteSink, _ format: ResolvedFormat, _ facts: WrittenFacts) throws {
        let pictures = PictureBlock.tag(facts.pictures).map { [$0] } ?? []
        let tags = facts.tags.filter { !$0.isTechnical } + pictures
        let places = try CommentValues.divide(tags, in: sink) { VorbisComments.inOgg($0, sink.size) }
        try OggPages.restateChecksums(at: places, in: sink)
    }
}
