import Conversion
import Foundation
import Media
import TestSupport

/// A folder like a real one: short calls, spoken sentences, a long piece of music, and damaged files.
struct Recordings {
    let folder: String

    /// The number of calls.
    static let calls = 240

    func make() throws {
        for name in ["calls", "spoken", "music", "broken"] {
            try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
        }
        try makeCalls()
        try makeSpoken()
        try makeMusic()
        try makeBroken()
    }

    /// Speech-like signals of four seconds each, at the telephone rate of 8 kHz.
    private func makeCalls() throws {
        for number in 1...Self.calls {
            try Interruption.check()
            let call = Signal.speechLike(seed: UInt64(number), rate: 8_000)
            try WAVFile.write(call.pcm(.s16), to: "\(folder)/calls/\(String(format: "%03d", number)).wav")
        }
    }

    /// One sentence in each of the languages that espeak-ng speaks best.
    private static let sentences = [
        ("en-gb", "english", "Sluice converts mountains of audio, on as many machines as you have."),
        ("de", "german", "Nichts geht verloren, und nichts geschieht zweimal."),
        ("fr", "french", "Rien n'est perdu, et rien n'est fait deux fois."),
        ("es", "spanish", "Nada se pierde, y nada se hace dos veces."),
        ("it", "italian", "Niente si perde, e niente si fa due volte."),
        ("pt", "portuguese", "Nada se perde, e nada se faz duas vezes."),
        ("nl", "dutch", "Niets gaat verloren, en niets gebeurt twee keer."),
        ("sv", "swedish", "Inget går förlorat, och inget görs två gånger."),
        ("pl", "polish", "Nic nie ginie i nic nie dzieje się dwa razy."),
        ("tr", "turkish", "Hiçbir şey kaybolmaz, hiçbir şey iki kez yapılmaz."),
    ]

    private func makeSpoken() throws {
        for (voice, name, sentence) in Self.sentences {
            try Interruption.check()
            try Run.program("espeak-ng", ["-v", voice, "-w", "\(folder)/spoken/\(name).wav", sentence]).checked()
        }
    }

    /// Six minutes of one repeated melody.
    private func makeMusic() throws {
        let melody = Signal.melody(rate: 44_100).pcm(.s16)
        let rounds = Int((360 / melody.seconds).rounded(.up))
        let whole = PCM(
            rate: 44_100,
            channels: 2,
            format: .s16,
            bytes: Array(repeatElement(melody.bytes, count: rounds).joined())
        )
        try WAVFile.write(whole, to: "\(folder)/music/variations.wav")
    }

    private func makeBroken() throws {
        let talk = try WAVFile.bytes(Signal.melody(rate: 44_100).pcm(.s16))
        // The header still declares the full length.
        try Bytes.write(Array(talk.prefix(talk.count / 2)), to: "\(folder)/broken/upload.wav")
        try Bytes.write(talk, to: "\(folder)/../upload-again.wav")
        try Bytes.write([], to: "\(folder)/broken/empty.wav")
        try Bytes.write(Array("<html>404 Not Found</html>\n".utf8), to: "\(folder)/broken/download.mp3")
        try Self.makeScratched(talk, at: "\(folder)/broken/scratched.flac", in: folder)
    }

    /// Writes a FLAC file in which 2 kB in the middle are zeros.
    static func makeScratched(_ wav: [UInt8], at path: String, in folder: String) throws {
        let source = "\(folder)/whole.wav"
        try Bytes.write(wav, to: source)
        let input = try OpenFile.reading(source)
        let output = try OpenFile.creating(path)
        let request = Converter.Request(format: AudioFormat(container: .flac))
        _ = try Converter(request).run(from: input.descriptor, to: output.descriptor)
        try Bytes.overwrite(path, at: Bytes.size(of: path) / 2, with: [UInt8](repeating: 0, count: 2_048))
        try FileManager.default.removeItem(atPath: source)
    }
}
