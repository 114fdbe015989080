import Conversion
import Foundation
import TestSupport

/// Shows what the command makes of a FLAC with a hole: refused, concealed, and looked at.
struct DamageTour {
    let folder: String
    /// The command, which is built beside this program.
    private let sluice = Bundle.main.executableURL!.deletingLastPathComponent().appendingPathComponent("sluice").path

    init(folder: String) { self.folder = folder }

    func run(on page: Page) throws {
        var bytes = try Bytes.read("\(folder)/melody-flac.flac")
        let hole = bytes.count / 2
        bytes.replaceSubrange(hole..<(hole + 2048), with: [UInt8](repeating: 0, count: 2048))
        try Bytes.write(bytes, to: "\(folder)/damaged.flac")
        // An earlier demo's would be in the way.
        try? FileManager.default.removeItem(atPath: "\(folder)/whole.wav")
        try show(["convert", "damaged.flac", "whole.wav"], on: page)
        try show(
            ["convert", "damaged.flac", "whole.wav", "--on-damage", "conceal"],
            on: page
        )
        try show(["probe", "--scan", "damaged.flac"], on: page)
    }

    /// Runs the command as somebody in that folder would, and shows what is typed and what comes.
    private func show(_ words: [String], on page: Page) throws {
        page.typed("sluice " + words.joined(separator: " "))
        let colour = page.isColoured ? "always" : "never"
        let run = try Run.program(
            sluice,
            words + ["--color", colour],
            environment: ["COLUMNS": "80", "LANG": "C.UTF-8"],
            folder: folder
        )
        page.text(run.outputText + run.errorText)
    }
}
