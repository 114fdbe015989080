import Foundation
import TestSupport

/// A folder with computed sound.
struct Material {
    let folder: TemporaryFolder

    /// Creates `talk.wav`: half a second of stereo at 48 kHz, with a title.
    init() throws {
        folder = try TemporaryFolder.create()
        try WAVFile.write(Self.talk, to: folder.path("talk.wav"), options: .init(info: [("INAM", "A talk")]))
    }

    static let talk = Signal.sweep(rate: 48_000, frames: 24_000, channels: 2).pcm(.s16)

    func path(_ name: String) -> String { folder.path(name) }

    /// Adds `damaged.flac`: one second of mono noise at 48 kHz, with 2,000 zero bytes in its middle.
    func addDamaged() throws {
        let noise = Signal.noise(seed: 7, rate: 48_000, frames: 48_000).pcm(.s16)
        try FFmpeg.encode(noise, to: path("damaged.flac"), ["-frame_size", "4096"])
        let size = try Bytes.size(of: path("damaged.flac"))
        try Bytes.overwrite(path("damaged.flac"), at: size / 2, with: [UInt8](repeating: 0, count: 2000))
    }

    /// Adds `two.mka` with two tracks: 440 Hz in mono and 880 Hz in stereo.
    func addTwoTracks() throws {
        let first = Signal.tone(440, rate: 48_000, frames: 24_000).pcm(.s16)
        let second = Signal.tone(880, rate: 48_000, frames: 12_000, channels: 2).pcm(.s16)
        try WAVFile.write(first, to: path("first.wav"))
        try WAVFile.write(second, to: path("second.wav"))
        try FFmpeg.run(
            [
                "-i", path("first.wav"), "-i", path("second.wav"), "-map", "0", "-map", "1", "-c", "flac",
                path("two.mka"),
            ]
        )
    }

    /// Adds `six.wav`: half a second of 5.1.
    func addSixChannels() throws {
        try WAVFile.write(Signal.tone(440, rate: 48_000, frames: 24_000, channels: 6).pcm(.s16), to: path("six.wav"))
    }

    /// Adds `twelve.wav`: half a second of twelve channels without a known layout.
    func addTwelveChannels() throws {
        try WAVFile.write(
            Signal.tone(440, rate: 48_000, frames: 24_000, channels: 12).pcm(.s16),
            to: path("twelve.wav")
        )
    }

    /// Adds `text.wav`, which contains no sound.
    func addText() throws { try Bytes.write(Array("not a sound\n".utf8), to: path("text.wav")) }
}
