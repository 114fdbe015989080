import Conversion
import Media
import TestSupport

/// Shows what the three damage modes make of a FLAC with a hole.
struct DamageTour {
    let folder: String

    func run(on page: Page) throws {
        let damaged = "\(folder)/damaged.flac"
        var bytes = try Bytes.read("\(folder)/melody-flac.flac")
        let hole = bytes.count / 2
        bytes.replaceSubrange(hole..<(hole + 2048), with: [UInt8](repeating: 0, count: 2048))
        try Bytes.write(bytes, to: damaged)
        for mode in DamageMode.allCases { try convert(damaged, mode, on: page) }
    }

    private func convert(_ path: String, _ mode: DamageMode, on page: Page) throws {
        let input = try OpenFile.reading(path)
        let output = try OpenFile.creating("\(folder)/damaged-\(mode.rawValue).wav")
        page.heading("  \(mode.rawValue)")
        do {
            let request = Converter.Request(format: AudioFormat(container: .wav), damage: mode)
            let outcome = try Converter(request).run(from: input.descriptor, to: output.descriptor)
            page.text("\(outcome.summary.writtenFrames) frames written")
            for stretch in outcome.damage.stretches {
                let time = MediaTime(frames: stretch.start, rate: outcome.source.sampleRateHz)
                let done = mode == .conceal ? "replaced by silence" : "left out"
                page.text("\(stretch.frames) frames from \(time) \(done) (\(stretch.code.rawValue))")
            }
        } catch let error as MediaError {
            page.error(error.detail)
            page.text(
                "       code \(error.code.rawValue), stage \(error.stage.rawValue), libav \(error.libavName ?? "-")"
            )
            if let position = error.position { page.text("       at \(position), frame \(error.frame ?? 0)") }
            if let hint = error.hint { page.text("hint:  \(hint)") }
        }
    }
}
