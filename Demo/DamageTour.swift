import Foundation
import TestSupport

/// Converts a FLAC file with a hole in it: refused by default, then concealed, then scanned.
struct DamageTour {
    let place: DemoPlace
    let page: Page

    func run() throws -> Bool {
        page.title("A damaged file: 2 kB in the middle of a FLAC are overwritten with zeros")
        let melody = try WAVFile.bytes(Signal.melody(rate: 44_100).pcm(.s16))
        try Recordings.makeScratched(melody, at: place.path("damaged.flac"), in: place.folder)
        let shell = Shell(folder: place.folder, environment: place.environment, page: page)
        try shell.type("sluice convert damaged.flac whole.wav", code: 1)
        try shell.type("sluice convert damaged.flac whole.wav --on-damage conceal")
        try shell.type("sluice probe --scan damaged.flac")
        return true
    }
}
