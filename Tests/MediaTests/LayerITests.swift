import Conversion
import TestSupport
import Testing

@testable import Media

/// MPEG-1 audio layer I. libav computes its checksum wrongly in joint stereo.
@Suite struct LayerITests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private static let frames = 60

    private static let modes: [(LayerIFile.Mode, UInt8)] =
        [(.stereo, 0), (.dual, 0), (.mono, 0)] + (0..<4).map { (.joint, $0) }

    @Test(arguments: [false, true], modes)
    func everyModeIsReadAsPlayersReadIt(isProtected: Bool, kind: (LayerIFile.Mode, UInt8)) throws {
        let (mode, modeExtension) = kind
        let path = folder.path("a.mp1")
        let file = LayerIFile(mode: mode, modeExtension: modeExtension, isProtected: isProtected)
        try Bytes.write(file.bytes(frames: Self.frames, seed: 3), to: path)
        let read = try ReadBack.file(path)
        let pcm = try read.pcm
        #expect(read.track.codecName == "mp1" && read.damage.isEmpty && pcm.frames == Self.frames * 384)
        #expect(pcm.rms.min()! > 0.01)
        let heard = try Player.mpg123.decode(path, in: folder)
        try #require(heard.frames == pcm.frames && heard.channels == pcm.channels)
        #expect(try pcm.converted(to: .s16).snr(against: heard).min()! > 60)
        let reference = try FFmpeg.decode(path, to: pcm.format)
        #expect(try pcm.snr(against: reference).min()! > 60)
    }

    @Test(arguments: LayerIFile.Mode.allCases) func wrongChecksumIsDamage(mode: LayerIFile.Mode) throws {
        let good = LayerIFile(mode: mode, isProtected: true).bytes(frames: 20, seed: 5)
        let bad = LayerIFile(mode: mode, isProtected: true, isWrong: true).bytes(frames: 1, seed: 6)
        try Bytes.write(good + bad + good, to: folder.path("a.mp1"))
        #expect(Converted.code { _ = try ReadBack.file(folder.path("a.mp1")) } == .corruptStream)
        let read = try ReadBack.file(folder.path("a.mp1"), options: .init(damage: .conceal))
        #expect(read.damage.frames == 384 && read.deliveredFrames == 41 * 384)
    }
}
