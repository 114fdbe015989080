import TestSupport

/// Decodes many files in one run of `ffmpeg`: starting it costs far more than decoding a short clip.
enum FFmpegBatch {
    struct Source {
        let path: String
        /// Arguments before `-i`, for files that cannot describe themselves.
        var arguments: [String] = []
        var channels: Int
    }

    /// The number of frames that `ffmpeg` decodes from each file.
    static func frames(_ sources: [Source], in folder: TemporaryFolder) throws -> [Int] {
        let paths = sources.indices.map { folder.path("decoded-\($0).raw") }
        try run(sources, zip(sources.indices, paths).map { ["-c:a", "pcm_u8", "-f", "u8", $1] })
        return try zip(sources, paths).map { try Bytes.size(of: $1) / $0.channels }
    }

    /// The MD5 of each file's samples as `codec`, in hexadecimal digits.
    static func digests(_ sources: [Source], codecs: [String], in folder: TemporaryFolder) throws -> [String] {
        let paths = sources.indices.map { folder.path("digest-\($0).md5") }
        try run(sources, zip(codecs, paths).map { ["-c:a", $0, "-f", "md5", $1] })
        return try paths.map { path in
            let text = String(decoding: try Bytes.read(path), as: UTF8.self)
            return String(text.drop { $0 != "=" }.dropFirst().prefix { $0.isHexDigit })
        }
    }

    private static func run(_ sources: [Source], _ outputs: [[String]]) throws {
        let inputs = sources.flatMap { $0.arguments + ["-i", $0.path] }
        let targets = outputs.enumerated().flatMap { ["-map", "\($0.offset):a:0", "-map_metadata", "-1"] + $0.element }
        try FFmpeg.run(["-y"] + inputs + targets)
    }
}
