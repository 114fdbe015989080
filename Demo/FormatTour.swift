import Conversion
import Foundation
import Media
import TestSupport

/// Converts one source into every container and codec, then decodes each output and counts its frames.
struct FormatTour {
    let folder: String
    private var source: String { "\(folder)/melody.wav" }

    init(folder: String) { self.folder = folder }

    /// Whether every planned frame came back, in every format that stores an exact length.
    func run(on page: Page) throws -> Bool {
        let melody = Signal.melody(rate: 44_100).pcm(.s16)
        try WAVFile.write(melody, to: source)
        page.title("One melody, \(Int64(melody.frames).grouped) frames at 44.1 kHz, in every format that Sluice writes")
        page.heading(
            "FILE".padded(19) + "FORMAT".padded(15) + "PLANNED".aligned(8) + "DECODED".aligned(9) + "SIZE".aligned(10)
                + "SPEED".aligned(8)
        )
        var whole = true
        for rule in FormatTable.rules {
            try Interruption.check()
            let row = try convert(rule)
            if rule.gapless == .exact {
                whole = whole && row.decoded == row.expected
                page.line(row.text, row.decoded == row.expected ? .good("complete") : .bad("SHORT"))
            } else {
                page.line(row.text, .plain("padded"))
            }
        }
        return whole
    }

    private struct Row {
        let text: String
        let expected: Int64
        let decoded: Int64
    }

    private func convert(_ rule: FormatRule) throws -> Row {
        let name = "melody-\(rule.codec.rawValue).\(rule.container.fileExtensions[0])"
        let input = try OpenFile.reading(source)
        let output = try OpenFile.creating("\(folder)/\(name)")
        let request = Converter.Request(format: AudioFormat(container: rule.container, codec: rule.codec))
        let clock = ContinuousClock()
        let start = clock.now
        let outcome = try Converter(request).run(from: input.descriptor, to: output.descriptor)
        let seconds = (clock.now - start) / .seconds(1)
        let length = Double(outcome.sourceFrames) / Double(outcome.source.sampleRateHz)
        let decoded = try count(output.descriptor, outcome.format)
        let text =
            name.padded(19) + rule.codec.rawValue.padded(9) + "\(outcome.format.sampleRateHz)".padded(6)
            + outcome.summary.plannedFrames.grouped.aligned(8) + decoded.grouped.aligned(9)
            + size(outcome.summary.bytes).aligned(10) + "\(Int(length / seconds))x".aligned(8)
        return Row(text: text, expected: outcome.summary.plannedFrames, decoded: decoded)
    }

    /// The number of frames that decoding the output yields.
    private func count(_ descriptor: Int32, _ format: ResolvedFormat) throws -> Int64 {
        let reader = try Reader(descriptor: descriptor, options: .init(raw: RawShape(format)))
        let samples = try reader.samples(of: reader.track())
        var block = try SampleBlock()
        while try samples.next(into: &block) {}
        return samples.deliveredFrames
    }

    private func size(_ bytes: Int64) -> String {
        bytes < 1_000_000
            ? String(format: "%.1f kB", Double(bytes) / 1e3) : String(format: "%.1f MB", Double(bytes) / 1e6)
    }
}
