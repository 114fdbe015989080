import Conversion
import Synchronization
import TestSupport

@testable import Media

/// One short file of every format whose damage is tested. Each is made once and read once.
struct SampleFile: Sendable {
    let kind: Kind
    let bytes: [UInt8]
    /// The result of reading the undamaged file.
    let clean: Readout

    enum Kind: String, CaseIterable, Sendable {
        case mp3CBR, mp3VBR, mp3CBRWithoutHeader, mp3VBRWithoutHeader, mp2, ac3, eac3, adts
        case flac, oggFLAC, oggVorbis, oggOpus, oggOpusShortPages
        case m4aAAC, m4aALAC, mp4Opus, mp4FLAC, fragmentedMP4, cafALAC, cafOpus
        case wav, w64, aiff, au, cafPCM, wavPack, tta
        case mkaAAC, mkaOpus, mkaFLAC, mkaVorbis, mkaPCM, mkaMP3, webmOpus, tsAAC, wma
    }

    /// The file of this kind. The first request runs `ffmpeg`; the process then keeps the result.
    static func of(_ kind: Kind) throws -> SampleFile {
        try made.withLock { made in
            if let known = made[kind] { return known }
            let fresh = try make(kind)
            made[kind] = fresh
            return fresh
        }
    }

    private static let made = Mutex<[Kind: SampleFile]>([:])

    /// White noise, which fits only at the right lag.
    static let sound = Signal.noise(seed: 21, rate: 44_100, frames: 55_125, amplitude: 0.3).pcm(.s16)

    private static func make(_ kind: Kind) throws -> SampleFile {
        let folder = try TemporaryFolder.create()
        let path = folder.path("sample.\(kind.fileExtension)")
        try FFmpeg.encode(sound, to: path, ["-fflags", "+bitexact", "-flags:a", "+bitexact"] + kind.arguments)
        let bytes = try Bytes.read(path)
        return SampleFile(kind: kind, bytes: bytes, clean: try Readout(bytes, name: kind.fileName))
    }
}

extension SampleFile.Kind {
    var fileName: String { "sample.\(fileExtension)" }

    var fileExtension: String {
        switch self {
        case .mp3CBR, .mp3VBR, .mp3CBRWithoutHeader, .mp3VBRWithoutHeader: "mp3"
        case .mp2: "mp2"
        case .ac3: "ac3"
        case .eac3: "eac3"
        case .adts: "aac"
        case .flac: "flac"
        case .oggFLAC, .oggVorbis, .oggOpus, .oggOpusShortPages: "ogg"
        case .m4aAAC, .m4aALAC: "m4a"
        case .mp4Opus, .mp4FLAC, .fragmentedMP4: "mp4"
        case .cafALAC, .cafOpus, .cafPCM: "caf"
        case .wav: "wav"
        case .w64: "w64"
        case .aiff: "aiff"
        case .au: "au"
        case .wavPack: "wv"
        case .tta: "tta"
        case .mkaAAC, .mkaOpus, .mkaFLAC, .mkaVorbis, .mkaPCM, .mkaMP3: "mka"
        case .webmOpus: "webm"
        case .tsAAC: "ts"
        case .wma: "wma"
        }
    }

    fileprivate var arguments: [String] {
        // Clusters, fragments and blocks are short like the sound, so that a hole does not swallow all of it.
        let clusters = ["-cluster_time_limit", "200"]
        // Substituted noise (PNS) changes whenever a frame is missing.
        let aac = ["-c:a", "aac", "-aac_pns", "0", "-b:a", "96k"]
        return switch self {
        case .mp3CBR: ["-c:a", "libmp3lame", "-b:a", "128k"]
        case .mp3VBR: ["-c:a", "libmp3lame", "-q:a", "3"]
        case .mp3CBRWithoutHeader: ["-c:a", "libmp3lame", "-b:a", "128k", "-write_xing", "0", "-id3v2_version", "0"]
        case .mp3VBRWithoutHeader: ["-c:a", "libmp3lame", "-q:a", "3", "-write_xing", "0", "-id3v2_version", "0"]
        case .mp2: ["-c:a", "mp2", "-b:a", "128k"]
        case .ac3: ["-c:a", "ac3", "-b:a", "128k"]
        case .eac3: ["-c:a", "eac3", "-b:a", "128k"]
        case .adts: aac
        case .flac: ["-c:a", "flac", "-frame_size", "2048"]
        case .oggFLAC: ["-c:a", "flac", "-frame_size", "2048", "-page_duration", "100000"]
        case .oggVorbis: ["-c:a", "libvorbis", "-q:a", "4", "-page_duration", "100000"]
        case .oggOpus: ["-c:a", "libopus", "-b:a", "64k", "-page_duration", "100000"]
        case .oggOpusShortPages: ["-c:a", "libopus", "-b:a", "64k", "-page_duration", "20000"]
        case .m4aAAC: aac + ["-movie_timescale", "44100"]
        case .m4aALAC: ["-c:a", "alac"]
        case .mp4Opus: ["-c:a", "libopus", "-b:a", "64k"]
        case .mp4FLAC: ["-c:a", "flac", "-strict", "-2"]
        case .fragmentedMP4:
            aac + ["-movflags", "+frag_keyframe+empty_moov+default_base_moof", "-frag_duration", "200000"]
        case .cafALAC: ["-c:a", "alac"]
        case .cafOpus: ["-c:a", "libopus", "-b:a", "64k"]
        case .wav, .w64, .aiff, .au: []
        case .cafPCM: ["-c:a", "pcm_s16le"]
        case .wavPack: ["-c:a", "wavpack", "-frame_size", "4410"]
        case .tta: ["-c:a", "tta"]
        case .mkaAAC: aac + clusters
        case .mkaOpus, .webmOpus: ["-c:a", "libopus", "-b:a", "64k"] + clusters
        case .mkaFLAC: ["-c:a", "flac", "-frame_size", "2048"] + clusters
        case .mkaVorbis: ["-c:a", "libvorbis", "-q:a", "4"] + clusters
        case .mkaPCM: ["-c:a", "pcm_s16le"] + clusters
        case .mkaMP3: ["-c:a", "libmp3lame", "-b:a", "128k"] + clusters
        case .tsAAC: aac
        case .wma: ["-c:a", "wmav2"]
        }
    }
}
