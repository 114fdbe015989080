import Glibc
import TestSupport

/// The seed files: a short computed tone, encoded by `ffmpeg` in every format that we read.
enum SeedFiles {
    /// File extension and encoder arguments.
    private static let formats = [
        "wav -c:a pcm_s16le", "wav -c:a pcm_f32le", "wav -c:a adpcm_ms", "wav -c:a adpcm_ima_wav", "wav -c:a pcm_mulaw",
        "w64 -c:a pcm_s24le", "aiff -c:a pcm_s16be", "caf -c:a pcm_s16be", "caf -c:a alac", "au -c:a pcm_s16be",
        "flac -c:a flac", "ogg -c:a flac", "ogg -c:a libvorbis", "opus -c:a libopus", "mp3 -c:a libmp3lame",
        "mp3 -c:a libmp3lame -q:a 4 -write_xing 0", "mp2 -c:a mp2", "m4a -c:a aac", "m4a -c:a alac",
        "mp4 -c:a aac -movflags frag_keyframe+empty_moov", "aac -c:a aac", "ac3 -c:a ac3", "mka -c:a flac",
        "webm -c:a libopus", "mkv -c:a aac", "wv -c:a wavpack", "wma -c:a wmav2", "ts -c:a aac", "ts -c:a mp2",
        "tta -c:a tta",
        "mov -c:a pcm_s16le", "avi -c:a pcm_s16le", "avi -c:a libmp3lame", "voc -c:a pcm_s16le", "flv -c:a aac",
        "flv -c:a nellymoser -ac 1", "flv -c:a adpcm_swf -ar 22050", "ogg -c:a libspeex -ar 16000 -ac 1",
        "rm -c:a real_144 -ar 8000 -ac 1", "rm -c:a ac3", "sox -c:a pcm_s32le", "wav -c:a adpcm_yamaha",
        "ircam -c:a pcm_s16le", "thd -c:a truehd -strict -2 -ar 48000", "mlp -c:a mlp -strict -2 -ar 48000",
        "mkv -c:a truehd -strict -2 -ar 48000", "vob -c:a ac3 -ar 48000", "vob -c:a pcm_dvd -ar 48000",
        "mpg -c:a mp2 -ar 48000",
        "mmf -c:a adpcm_yamaha -ar 22050 -ac 1",
    ]

    /// A fifth of a second: several packets in most formats, but only a few kilobytes.
    private static let tone = Signal.tone(440, rate: 16_000, frames: 3_200, channels: 2)

    static func write(into folder: String) throws {
        guard mkdir(folder, 0o755) == 0 || errno == EEXIST else { throw SupportError("create \(folder)", errno: errno) }
        let source = "\(folder)/tone.wav"
        try WAVFile.write(tone.pcm(.s16), to: source)
        let tags = ["-metadata", "title=Ein Ton", "-metadata", "artist=\u{1B}[31mx", "-metadata", "comment=1/2"]
        for (number, format) in formats.enumerated() {
            let words = format.split(separator: " ").map(String.init)
            let exact = ["-fflags", "+bitexact", "-flags:a", "+bitexact"]
            let rate = words.contains("libopus") ? ["-ar", "48000"] : []
            try FFmpeg.encode(source, to: "\(folder)/\(number).\(words[0])", exact + tags + rate + words.dropFirst())
        }
        for (name, bytes) in RareFile.short { try Bytes.write(bytes, to: "\(folder)/\(name)") }
        // Formats that only SoX writes.
        for name in ["a.sph", "a.8svx"] {
            try Run.program("sox", ["-D", source, "-b", name == "a.8svx" ? "8" : "16", "\(folder)/\(name)"]).checked()
        }
    }
}
