import API
import Console
import Conversion
import Ledger
import PumpRoom
import Storage

/// `sluice presets --for FILE`: what each built-in preset makes of a file.
enum PresetFits {
    static func show(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode? {
        guard let name = invocation[PresetsCommand.file] else { return nil }
        return try ForegroundRoom.lend { room in
            defer { if let warning = room.warning { console.warn(warning) } }
            return try show(name, in: room, invocation, console)
        }
    }

    private static func show(
        _ name: String,
        in room: ForegroundRoom,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws -> ExitCode {
        // A pipe may block the room; a signal cancels it, as it does for `probe`.
        let result = ForegroundWork.run(
            onTick: {},
            onSignal: { room.stop() },
            onSurrender: { _ in room.kill() },
            { fitting(name, in: room) }
        )
        if let signal = result.signal { return signal }
        let fits: [Plan]
        switch result.value {
        case .success(let found): fits = found
        case .failure(let failure):
            FailurePage(failure, source: name, invocation: invocation).show(on: console)
            return failure.exitCode
        }
        if invocation[PresetsCommand.json] {
            for fit in fits { try console.print(JSONText.line(fit)) }
        } else {
            try console.print(table(fits).lines(for: console.data).joined(separator: "\n"))
        }
        return fits.contains(where: \.fit.fits) ? .success : .nothingMatched
    }

    /// What a preset would make of a file, and what the output would lack.
    private struct Plan: Encodable {
        let fit: PresetFit
        private let record: FitRecord

        /// `nil` if there is no such preset.
        init?(_ fit: PresetFit, _ source: SourceReport, _ track: TrackReport) {
            guard let preset = Preset.all.first(where: { $0.name == fit.preset }) else { return nil }
            self.fit = fit
            record = FitRecord(preset.format(forExtension: nil), SourceFacts(track), SourceExtras(source))
        }

        /// The losses in words; empty if there are none.
        var losses: String {
            record.losses.map { Remark($0, "", count: $0 == .tags ? Int64(record.lostTags.count) : nil).brief }
                .joined(separator: ", ")
        }

        private enum Key: String, CodingKey { case losses, keptTags, lostTags, keepsCover }

        func encode(to encoder: any Encoder) throws {
            try fit.encode(to: encoder)
            guard fit.fits else { return }
            var members = encoder.container(keyedBy: Key.self)
            try members.encode(record.losses, forKey: .losses)
            try members.encode(record.keptTags, forKey: .keptTags)
            try members.encode(record.lostTags, forKey: .lostTags)
            try members.encodeIfPresent(record.keepsCover, forKey: .keepsCover)
        }
    }

    private static func fitting(_ name: String, in room: ForegroundRoom) -> Result<[Plan], Failure> {
        do {
            let source = try SourceFile.opening(word: name)
            let options = ProbeOptions(nameHint: name == "-" ? nil : name, fitsPresets: true)
            // The slot rejects a reply without the presets that were requested.
            let report = try room.describe(source.descriptor, options) { _ in }
            guard let track = report.tracks.first(where: \.isMain) else { return .success([]) }
            return .success((report.presets ?? []).compactMap { Plan($0, report, track) })
        } catch {
            return .failure(Failure(of: error))
        }
    }

    private static func table(_ plans: [Plan]) -> TextTable {
        var table = TextTable([
            .init(title: "PRESET"), .init(title: "FITS"), .init(title: "SIZE", isNumber: true),
            .init(title: "WHAT COMES OF IT, OR WHY NOT", isElastic: true),
        ])
        for plan in plans {
            let fit = plan.fit
            let size = fit.estimatedBytes.map { Figures.bytes($0) } ?? "-"
            if let format = fit.format {
                let words =
                    "\(format.container.rawValue): \(FormatWords.short(format))"
                    + (plan.losses.isEmpty ? "" : "; " + plan.losses)
                table.add([.init(fit.preset), .init("yes", .good), .init(size), .init(words)])
            } else {
                let why = fit.reasons.joined(separator: "; ")
                table.add([.init(fit.preset), .init("no", .bad), .init("-"), .init(why)])
            }
        }
        return table
    }
}
