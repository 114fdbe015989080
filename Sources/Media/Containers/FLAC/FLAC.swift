import Conversion

/// FLAC in its own container.
struct FLAC: ContainerRules {
    let packets = PacketTraits(clock: .frameNumbers, jump: .byFrameNumber, landing: .byByte)

    func isCertain(_ start: [UInt8]) -> Bool {
        guard start.count >= 21, start.starts(with: "fLaC".utf8), start[4] & 0x7F == 0 else { return false }
        let (shortest, longest) = (bigEndian(start[8..<10]), bigEndian(start[10..<12]))
        let rate = bigEndian(start[18..<21]) >> 4
        return bigEndian(start[5..<8]) == 34 && shortest >= 16 && longest >= shortest && (1...655_350).contains(rate)
    }

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
