import Conversion
import TestSupport

@testable import Media

/// Conversions that exceed a budget or limit.
extension Provocation {
    static let budgets: [Provocation] = [
        Provocation(.metadataTooLarge, .open) { _ in
            // A tag of 70 MB before the sound.
            let size = 70_000_000
            let length = [21, 14, 7, 0].map { UInt8(size >> $0 & 0x7F) }
            let tag = Array("ID3".utf8) + [4, 0, 0] + length + Bytes.repeated([0], times: size)
            try read(tag + SampleFile.of(.mp3VBR).bytes, "a.mp3")
        },
        Provocation(.implausibleLength, .decode) { folder in
            // Five thousand bytes of sound, and a header that promises half a gigabyte.
            let sound = Signal.noise(seed: 2, rate: 8_000, frames: 2_500).pcm(.s16)
            let bytes = try WAVFile.bytes(sound, options: .init(claimedDataSize: 500_000_000))
            let output = try OpenFile.creating(folder.path("out"))
            try withSource(bytes) { source in
                let request = Converter.Request(format: AudioFormat(container: .wav), damage: .conceal)
                _ = try Converter(request).run(from: source, to: output.descriptor)
            }
        },
        Provocation(.outputBytesExceeded, .write) { folder in
            try convert(noise(folder, seconds: 10), Budget(outputBytes: 200_000), .wav, folder)
        },
        Provocation(.decodedSecondsExceeded, .decode) { folder in
            try convert(noise(folder, seconds: 10), Budget(decodedSeconds: 2), .wav, folder)
        },
        Provocation(.expansionExceeded, .decode) { folder in
            let path = folder.path("silence.flac")
            try FFmpeg.run(["-f", "lavfi", "-i", "anullsrc=r=192000:cl=7.1", "-t", "100", path])
            try convert(Bytes.read(path), Budget(expansionRatio: 2_000), .flac, folder)
        },
        Provocation(.cpuExceeded, .decode) { folder in
            try convert(noise(folder, seconds: 300), Budget(cpuSeconds: 1), .mp3, folder)
        },
        Provocation(.openSecondsExceeded, .open) { folder in
            try convert(noise(folder, seconds: 1), Budget(openSeconds: 0), .wav, folder)
        },
    ]

    private static func noise(_ folder: TemporaryFolder, seconds: Int) throws -> [UInt8] {
        let path = folder.path("noise.wav")
        try FFmpeg.run(["-f", "lavfi", "-i", "anoisesrc=d=\(seconds):r=44100:seed=1", "-ac", "2", path])
        return try Bytes.read(path)
    }

    private static func convert(
        _ bytes: [UInt8],
        _ budget: Budget,
        _ container: Container,
        _ folder: TemporaryFolder
    ) throws {
        let output = try OpenFile.creating(folder.path("out"))
        try withSource(bytes) { source in
            var request = Converter.Request(format: AudioFormat(container: container))
            request.budget = budget
            _ = try Converter(request).run(from: source, to: output.descriptor)
        }
    }
}
