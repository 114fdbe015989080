import TestSupport

/// Sources with tags and a cover, made by `ffmpeg`.
enum Covered {
    /// Typical tags of real files: standard names, custom names, ReplayGain, characters beyond ASCII.
    static let tags: [(name: String, text: String)] = [
        ("title", "Žluťoučký kůň"), ("artist", "Motörhead & 椎名林檎"), ("album", "Album"), ("album_artist", "Various"),
        ("composer", "J. S. Bach"), ("genre", "Baroque"), ("date", "1999-12-31"), ("track", "3/12"), ("disc", "1/2"),
        ("comment", "a comment = with signs; \"quoted\""), ("copyright", "© 2026"),
        ("MUSICBRAINZ_TRACKID", "9b3ac7b2-0e2a-4d1c-8f0e-000000000000"), ("REPLAYGAIN_TRACK_GAIN", "-7.35 dB"),
        ("REPLAYGAIN_TRACK_PEAK", "0.988"), ("my own field", "🎵 yes"),
    ]

    enum Cover: String, CaseIterable, Sendable { case jpg, png }

    /// A stereo FLAC of 5,000 frames with all the tags and a cover of 60 by 40 pixels, made once for all tests.
    static func flac(_ cover: Cover = .jpg) throws -> String { try sources.get()[cover]!.flac }

    /// The bytes of the cover.
    static func picture(_ cover: Cover = .jpg) throws -> [UInt8] { try Bytes.read(sources.get()[cover]!.picture) }

    private static let home = Result { try TemporaryFolder.create() }

    private static let sources: Result<[Cover: (flac: String, picture: String)], any Error> = Result {
        let folder = try home.get()
        let wav = folder.path("sweep.wav")
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: 5_000, channels: 2).pcm(.s16), to: wav)
        let named = tags.flatMap { ["-metadata", "\($0.name)=\($0.text)"] }
        return try Dictionary(
            uniqueKeysWithValues: Cover.allCases.map { cover in
                let (flac, picture) = (folder.path("\(cover).flac"), folder.path("cover.\(cover)"))
                try FFmpeg.run(["-y", "-f", "lavfi", "-i", "testsrc=size=60x40", "-frames:v", "1", picture])
                try FFmpeg.run(
                    ["-y", "-i", wav, "-i", picture, "-map", "0", "-map", "1", "-c:v", "copy", "-c:a", "flac"]
                        + ["-disposition:v", "attached_pic"] + named + [flac]
                )
                return (cover, (flac, picture))
            }
        )
    }
}
