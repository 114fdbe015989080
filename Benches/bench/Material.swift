import Foundation
import TestSupport

/// The computed sounds that the benches convert: the same on every machine.
enum Material {
    static let clipRate = 8_000
    static let pieceRate = 44_100

    /// Mono clips of three to six seconds, 8 kHz by default, like recorded speech. Returns paths and lengths in frames.
    static func clips(
        _ count: Int,
        rate: Int = clipRate,
        in folder: String
    ) throws -> [(path: String, frames: Int)] {
        var generator = SeededGenerator(seed: 2_026)
        return try (0..<count).map { index in
            let seconds = generator.number(in: 3..<6)
            let clip = Signal.speechLike(seed: UInt64(index), rate: rate, seconds: seconds).pcm(.s16)
            let path = "\(folder)/clip-\(index).wav"
            try WAVFile.write(clip, to: path)
            return (path, clip.frames)
        }
    }

    /// A long 44.1 kHz stereo piece of melody, voices and noise: five different minutes, which repeat. Returns its
    /// length in frames.
    static func piece(minutes: Int, to path: String) throws -> Int {
        let distinct = min(minutes, 5)
        let part = try PCM.joined((0..<distinct).map { minute(UInt64($0)) })
        let frames = part.frames / distinct * minutes
        let size = frames * part.bytesPerFrame
        // Writes the first part with a header for the whole piece; the rest is appended.
        try WAVFile.write(part, to: path, options: .init(claimedDataSize: UInt32(size)))
        let file = try OpenFile.changing(path)
        var written = part.frames
        lseek(file.descriptor, 0, SEEK_END)
        while written < frames {
            let count = min(part.frames, frames - written)
            try append(part.bytes, count * part.bytesPerFrame, to: file.descriptor, path)
            written += count
        }
        return frames
    }

    /// One minute: a melody of changing loudness, a voice that is louder on the left, and hiss under both.
    private static func minute(_ seed: UInt64) -> PCM {
        let frames = 60 * pieceRate
        let melody = Signal.melody(rate: pieceRate).channels
        let voice = Signal.speechLike(seed: seed, rate: pieceRate, seconds: 60, amplitude: 0.3).channels[0]
        let hiss = Signal.noise(seed: seed, rate: pieceRate, frames: frames, channels: 2, amplitude: 0.01).channels
        let channels = (0..<2).map { channel in
            let notes = melody[channel]
            let voiceGain = channel == 0 ? 0.8 : 0.4
            return (0..<frames).map { frame in
                let swell = 0.35 + 0.25 * Double(frame % (11 * pieceRate)) / Double(11 * pieceRate)
                return notes[frame % notes.count] * swell + voice[frame] * voiceGain + hiss[channel][frame]
            }
        }
        return Signal(rate: pieceRate, channels: channels).pcm(.s16)
    }

    private static func append(_ bytes: [UInt8], _ size: Int, to descriptor: Int32, _ path: String) throws {
        try bytes.withUnsafeBytes { raw in
            var done = 0
            while done < size {
                let count = write(descriptor, raw.baseAddress.map { $0 + done }, size - done)
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { throw SupportError("write \(path)", errno: errno) }
                done += count
            }
        }
    }
}
