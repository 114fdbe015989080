import Conversion
import TestSupport

@testable import Media

extension SampleFile {
    /// Where each packet begins and, exclusively, ends. Ogg names only the page, and transport streams nothing, and
    /// packets of WMA cannot be copied: there it is the packets of the container.
    func packets() throws -> [Range<Int>] {
        if kind == .tsAAC { return stride(from: 0, to: bytes.count, by: 188).map { $0..<$0 + 188 } }
        // `ffmpeg` cuts ASF into packets of one size, behind a head.
        if kind == .wma { return stride(from: bytes.count % 3_200, to: bytes.count, by: 3_200).map { $0..<$0 + 3_200 } }
        let folder = try TemporaryFolder.create()
        try Bytes.write(bytes, to: folder.path(kind.fileName))
        let file = try OpenFile.reading(folder.path(kind.fileName))
        let reader = try Reader(descriptor: file.descriptor, options: .init(nameHint: kind.fileName))
        let output = try reader.packets(of: reader.track())
        var packet = try Packet()
        var places: [Range<Int>] = []
        while try output.next(into: &packet) {
            guard let place = packet.place else { throw SupportError("find packets", "\(kind) does not say where") }
            places.append(Int(place)..<Int(place) + packet.byteCount)
        }
        return places
    }
}

extension SampleFile.Kind {
    /// Those whose index lies behind the sound: cut off, they cannot be opened.
    static let withIndexBehind: Set<SampleFile.Kind> = [.m4aAAC, .m4aALAC, .mp4Opus, .mp4FLAC, .cafALAC, .cafOpus]

    /// Those that say nothing of their length: a cut between two frames is an end like any other.
    static let withoutLength: Set<SampleFile.Kind> = [
        .mp3CBRWithoutHeader, .mp3VBRWithoutHeader, .mp2, .ac3, .eac3, .adts, .tsAAC,
    ]

    /// Of these, the frames that lie one behind the other and nothing else: one that is cut short at the end is left out.
    static let bareWithoutLength = withoutLength.subtracting([.tsAAC])

    /// Those that lie on the pages of Ogg.
    var isPaged: Bool { [.oggFLAC, .oggVorbis, .oggOpus, .oggOpusShortPages].contains(self) }

    /// Samples and nothing else: what is not there is missed, what is wrong is not.
    static let pcm: Set<SampleFile.Kind> = [.wav, .w64, .aiff, .au, .cafPCM]
}
