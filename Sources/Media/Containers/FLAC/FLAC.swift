import Conversion

/// FLAC in its own container.
struct FLAC: ContainerRules {
    let packets = PacketTraits(clock: .frameNumbers, jump: .byFrameNumber, landing: .byByte)

    func capTags(_ cap: inout TagCap, from start: Int64) { cap.capFLAC(from: start) }

    func countTags(in source: ByteSource, _ size: Int64, into values: inout TagValues) {
        if let comments = VorbisComments.inFLAC(source, size) { VorbisComments.count(in: comments, into: &values) }
    }

    func length(_ stated: StatedLength, of stream: InputStream, in demuxer: Demuxer) -> LengthPromise {
        .counted(stated)
    }

    func numbering(of stream: InputStream) -> FLACNumbering? { FLACNumbering(blockFrames: stream.flacBlockFrames) }
}

/// As an output.
extension FLAC {
    func muxerName(_ format: ResolvedFormat) -> String { "flac" }
}
