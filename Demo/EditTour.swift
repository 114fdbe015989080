import Foundation
import TestSupport

/// Makes an episode: a jingle, then a voice over music that is turned down while it speaks.
struct EditTour {
    let place: DemoPlace
    let page: Page

    func run() throws -> Bool {
        page.title("An episode: a jingle, a voice, and music that makes room for it")
        try makeSounds()
        let shell = Shell(folder: place.folder, environment: place.environment, page: page)
        try shell.type(
            "sluice convert music.wav bed.wav --loop-until 0:16",
            "--ramp 0:02-0:03=0dB..-15dB --ramp 0:11-0:13=-15dB..0dB --fade-out 2s"
        )
        try shell.type("sluice mix bed.wav voice.wav@+0:03 talk.wav")
        try shell.type(
            "sluice convert talk.wav episode.flac --also episode.mp3 --also episode.opus",
            "--intro jingle.wav --crossfade 1s --loudness -16LUFS"
        )
        try shell.type("sluice probe --loudness episode.mp3")
        try shell.type("sluice split episode.flac --at 0:04,0:12 --to 'part-{n}.wav'")
        return try isAsLoudAsAsked(shell)
    }

    private func makeSounds() throws {
        let melody = Signal.melody(rate: 44_100)
        try WAVFile.write(melody.pcm(.s16), to: place.path("music.wav"))
        try WAVFile.write(melody.pcm(.s16).cut(0..<5 * 44_100), to: place.path("jingle.wav"))
        let words = "Sluice joins, mixes and fades whatever you have recorded, and not a sample gets lost."
        try Run.program("espeak-ng", ["-v", "en-gb", "-w", place.path("voice.wav"), words]).checked()
    }

    private func isAsLoudAsAsked(_ shell: Shell) throws -> Bool {
        struct Line: Decodable {
            struct Description: Decodable {
                struct Loudness: Decodable { let integratedLUFS: Double? }
                let loudness: Loudness?
            }
            let description: Description
        }
        let line = try shell.output(of: "sluice probe --loudness --json episode.flac")
        let found = try JSONDecoder().decode(Line.self, from: Data(line.utf8)).description.loudness?.integratedLUFS
        return found.map { abs($0 + 16) <= 0.1 } ?? false
    }
}
