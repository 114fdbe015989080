import TestSupport

/// A decoder program that shares no code with libav.
enum Player: Sendable {
    case mpg123, lame, oggdec, opusdec, speexdec, flac, mpcdec, wvunpack, sox

    /// Decodes `path` to 16-bit samples.
    func decode(_ path: String, in folder: TemporaryFolder) throws -> PCM {
        let output = folder.path("\(self).wav")
        try Run.program(program, arguments(path, output)).checked()
        return try WAVFile.read(path: output)
    }

    private var program: String { self == .oggdec ? "oggdec" : "\(self)" }

    private func arguments(_ path: String, _ output: String) -> [String] {
        switch self {
        case .mpg123: ["-q", "--gapless", "-w", output, path]
        case .lame: ["--quiet", "--decode", path, output]
        case .oggdec: ["-Q", path, "-o", output]
        case .opusdec: ["--quiet", "--rate", "48000", "--no-dither", path, output]
        case .speexdec: ["--quiet", path, output]
        case .flac: ["-s", "-d", "-F", "-f", path, "-o", output]
        case .mpcdec: [path, output]
        case .wvunpack: ["-q", "-y", path, "-o", output]
        case .sox: ["-D", path, "-b", "16", output]
        }
    }
}
