import Conversion

/// MPEG audio without a container.
struct MP3: ContainerRules {
    let frameSyntax: FrameSyntax? = .mpegAudio
    let opening = OpeningTraits(statesTimes: false)
    /// Tags lie between concatenated files, of which the first header counts only the first.
    let packets = PacketTraits(mayBeTags: true, mayFollowTheEnd: true)

    func facts(of stream: InputStream, in demuxer: Demuxer) -> ContainerFacts? { demuxer.framed?.header?.facts }
}

/// As an output.
extension MP3 {
    /// The decoder delay in frames, which the LAME tag omits from the delay that it states.
    static let decoderDelay = 529

    func muxerName(_ format: ResolvedFormat) -> String { "mp3" }

    /// Leaves out libav's tag, in which comments, lyrics and further values have no place.
    func muxerOptions(_ format: ResolvedFormat) -> [(String, String)] { [("id3v2_version", "0")] }

    /// Car radios and Windows read ID3v2.3.
    private static let tagVersion: UInt8 = 3

    func keepsValues(of name: String) -> Bool { ID3Tag.keepsValues(of: name, version: Self.tagVersion) }

    func pictureRoom(beside tags: [Tag]) -> PictureRoom { ID3Tag.pictureRoom }

    func front(_ tags: [Tag], _ options: Writer.Options) -> [UInt8] {
        let chapters = Array(options.chapters.prefix(Container.mp3.mostChapters))
        return ID3Tag(tags, pictures: options.pictures, chapters: chapters, version: Self.tagVersion).bytes
    }

    func prepared(_ tags: [Tag]) -> [Tag] { [] }

    /// A LAME tag with no delay would cost a source without a delay its first frames.
    func copyOptions(priming: Int64) -> [(String, String)] { priming == 0 ? [("write_xing", "0")] : [] }

    func marking(_ format: ResolvedFormat, _ encoder: borrowing Encoder) throws -> PacketSink.Marking { .lameTag }

    func copying(_ codec: Codec) -> CopyTraits { CopyTraits(marks: .lameTag, trims: .lameTag) }
}
