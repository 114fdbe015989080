import TestSupport

/// Sources with tags and a cover, made by `ffmpeg`.
enum Covered {
    /// What people really have in their files: standard names, their own, gain, letters beyond ASCII.
    static let tags: [(name: String, text: String)] = [
        ("title", "Žluťoučký kůň"), ("artist", "Motörhead & 椎名林檎"), ("album", "Album"), ("album_artist", "Various"),
        ("composer", "J. S. Bach"), ("genre", "Baroque"), ("date", "1999-12-31"), ("track", "3/12"), ("disc", "1/2"),
        ("comment", "a comment = with signs; \"quoted\""), ("copyright", "© 2026"),
        ("MUSICBRAINZ_TRACKID", "9b3ac7b2-0e2a-4d1c-8f0e-000000000000"), ("REPLAYGAIN_TRACK_GAIN", "-7.35 dB"),
        ("REPLAYGAIN_TRACK_PEAK", "0.988"), ("my own field", "🎵 yes"),
    ]

    enum Cover: String, CaseIterable, Sendable { case jpg, png }

    /// A FLAC of a sweep in stereo with all the tags and a cover of 60 by 40.
    static func flac(frames: Int, cover: Cover = .jpg, in folder: TemporaryFolder) throws -> String {
        let path = folder.path("covered.flac")
        let picture = try picture(cover, in: folder)
        let wav = folder.path("covered.wav")
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: frames, channels: 2).pcm(.s16), to: wav)
        let named = tags.flatMap { ["-metadata", "\($0.name)=\($0.text)"] }
        try FFmpeg.run(
            ["-y", "-i", wav, "-i", picture, "-map", "0", "-map", "1", "-c:v", "copy", "-c:a", "flac"]
                + ["-disposition:v", "attached_pic"] + named + [path]
        )
        return path
    }

    static func picture(_ cover: Cover, in folder: TemporaryFolder) throws -> String {
        let path = folder.path("cover." + cover.rawValue)
        try FFmpeg.run(["-y", "-f", "lavfi", "-i", "testsrc=size=60x40", "-frames:v", "1", path])
        return path
    }
}
