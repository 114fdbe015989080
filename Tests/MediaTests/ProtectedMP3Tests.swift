import TestSupport
import Testing

@testable import Media

/// MP3 whose frames carry checksums. The header frame has its checksum where it usually has only zeros.
@Suite struct ProtectedMP3Tests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    @Test(arguments: [
        "-b 128", "-V 2", "--abr 160", "-m m -b 64", "-m j -b 128", "-m s -b 320", "--resample 22.05 -b 64",
        "--resample 11.025 -b 32", "-V 4 --resample 16", "-m m --resample 24 -b 64", "-m m --resample 8 -b 32",
    ])
    func checksumsDoNotHideTheHeader(options: String) throws {
        let clip = Signal.stacked([
            .sweep(to: 3_000, rate: 44_100, frames: 61_234), .sweep(from: 3_000, to: 200, rate: 44_100, frames: 61_234),
        ])
        try WAVFile.write(clip.pcm(.s16), to: folder.path("a.wav"))
        let (plain, protected) = (folder.path("plain.mp3"), folder.path("protected.mp3"))
        let words = options.split(separator: " ").map(String.init)
        try Run.program("lame", ["--quiet"] + words + [folder.path("a.wav"), plain]).checked()
        try Run.program("lame", ["--quiet", "-p"] + words + [folder.path("a.wav"), protected]).checked()
        #expect(try Bytes.read(protected)[1] & 1 == 0 && Bytes.read(plain)[1] & 1 == 1)

        let read = try ReadBack.file(protected)
        let pcm = try read.pcm
        #expect(read.damage.isEmpty && read.track.length == .exact(Int64(pcm.frames)))
        #expect(try ReadBack.file(plain).track.length == read.track.length)
        for player in [Player.mpg123, .lame] {
            let heard = try player.decode(protected, in: folder)
            try #require(heard.frames == pcm.frames && heard.channels == pcm.channels, "\(player)")
            #expect(try pcm.converted(to: .s16).snr(against: heard).min()! > 60, "\(player)")
        }
        let reference = try FFmpeg.decode(protected, to: pcm.format)
        try #require(reference.frames == pcm.frames)
        #expect(try pcm.snr(against: reference).min()! > 100)
    }
}
