import Conversion
import TestSupport

@testable import Media

extension SampleFile {
    /// The byte range of each packet. Ogg states only the page, transport streams state nothing, and packets of WMA
    /// cannot be copied; for the last two, these are the packets of the container.
    func packets() throws -> [Range<Int>] {
        if kind == .tsAAC { return stride(from: 0, to: bytes.count, by: 188).map { $0..<$0 + 188 } }
        // `ffmpeg` divides ASF into packets of one size, after a header.
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
    /// Formats whose index lies after the sound: truncated files cannot be opened.
    static let withIndexBehind: Set<SampleFile.Kind> = [.m4aAAC, .m4aALAC, .mp4Opus, .mp4FLAC, .cafALAC, .cafOpus]

    /// Formats that do not state their length: a cut between two frames is an end like any other.
    static let withoutLength: Set<SampleFile.Kind> = [
        .mp3CBRWithoutHeader, .mp3VBRWithoutHeader, .mp2, .ac3, .eac3, .adts, .tsAAC,
    ]

    /// Of these, bare sequences of frames: an incomplete last frame is left out.
    static let bareWithoutLength = withoutLength.subtracting([.tsAAC])

    /// Formats on Ogg pages.
    var isPaged: Bool { [.oggFLAC, .oggVorbis, .oggOpus, .oggOpusShortPages].contains(self) }

    /// Uncompressed samples: missing ones are detected, wrong ones are not.
    static let pcm: Set<SampleFile.Kind> = [.wav, .w64, .aiff, .au, .cafPCM]
}
