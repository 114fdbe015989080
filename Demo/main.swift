// A first look: a computed melody in every format that can be written, and what happens to a damaged file.
import Conversion
import Foundation
import Media
import TestSupport

let folder = CommandLine.arguments.dropFirst().first ?? ".build/demo"
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
let page = Page(isTerminal: isatty(STDOUT_FILENO) == 1)

let source = "\(folder)/melody.wav"
let melody = Signal.melody(rate: 44_100).pcm(.s16)
try WAVFile.write(melody, to: source)

page.title("One melody, \(Int64(melody.frames).grouped) frames at 44.1 kHz, in every format that Sluice writes")
let table = FormatTour(source: source, folder: folder)
let whole = try table.run(on: page)

page.title("A damaged file: 2 kB in the middle of melody.flac are overwritten with zeros")
try DamageTour(folder: folder).run(on: page)

page.remark("The files are in \(folder).")
exit(whole ? 0 : 1)
