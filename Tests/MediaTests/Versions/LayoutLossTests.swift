import Conversion
import TestSupport
import Testing

@testable import Media

/// Containers that cannot store a channel layout: either the file has the layout, or a remark reports its loss.
@Suite struct LayoutLossTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// A WAV file with a channel mask.
    private func source(_ layout: ChannelLayout) throws -> String {
        let path = folder.path("in.wav")
        let clip = Signal.stacked(
            (1...layout.channelCount).map { .tone(Double($0) * 110, rate: 48_000, frames: 9_000) }
        )
        let options = WAVFile.Options(isExtensible: true, channelMask: UInt32(layout.mask))
        try WAVFile.write(clip.pcm(.s16), to: path, options: options)
        return path
    }

    @Test(arguments: FormatTable.rules.filter { $0.codec != .copy }.map { [$0.container.rawValue, $0.codec.rawValue] })
    func layoutIsInTheFileOrToldAsLost(names: [String]) throws {
        let (container, codec) = (try #require(Container(rawValue: names[0])), try #require(Codec(rawValue: names[1])))
        // MP3 knows only mono and stereo: it downmixes, with its own remark.
        guard codec != .mp3, ![.caf, .mp4].contains(container) || codec != .opus else { return }
        let input = try source(.fivePointOne)
        let path = folder.path("out." + container.fileExtensions[0])
        let outcome = try Converted.file(input, to: path, as: AudioFormat(container: container, codec: codec))
        let mask = try Decoded.file(path, raw: RawShape(outcome.format)).track.channelMask
        let isTold = outcome.remarks.contains { $0.kind == .layoutLost }
        #expect(isTold == (mask == 0), "\(mask) \(outcome.remarks)")
        #expect(isTold == !outcome.format.storesLayout)
    }

    @Test(arguments: [Container.au, .mka, .raw]) func lostLayoutIsALoss(container: Container) throws {
        let path = folder.path("out." + container.fileExtensions[0])
        let format = AudioFormat(container: container, codec: .pcm)
        let surround = try source(.fivePointOne)
        let outcome = try Converted.file(surround, to: path, as: format)
        #expect(outcome.remarks.map(\.kind) == [.layoutLost] && outcome.remarks.allSatisfy { $0.kind.isLoss })
        #expect(outcome.remarks[0].detail.contains("5.1") && outcome.remarks[0].brief == "layout lost")
        #expect(
            Converted.code { try Converted.file(surround, to: path, as: format, refusesLoss: true) } == .lossRefused
        )
        // One and two channels always mean mono and stereo.
        for layout in [ChannelLayout.mono, .stereo] {
            let outcome = try Converted.file(try source(layout), to: path, as: format, refusesLoss: true)
            #expect(outcome.remarks.isEmpty)
        }
    }

    @Test(arguments: [Container.mka, .caf]) func passthroughTellsItToo(container: Container) throws {
        let path = folder.path("out." + container.fileExtensions[0])
        let outcome = try Converted.file(
            try source(.fivePointOne),
            to: path,
            as: AudioFormat(container: container, codec: .copy)
        )
        let mask = try Decoded.file(path).track.channelMask
        #expect(outcome.remarks.map(\.kind) == (mask == 0 ? [.layoutLost] : []))
        #expect((mask == 0) == (container == .mka))
    }
}
