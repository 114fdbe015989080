import Console
import Conversion
import Glibc
import PumpRoom
import Storage

/// Changes what one file says about itself: a new file with the same packets takes its place.
struct TagChange: Sendable {
    let path: String
    let changes: TagChanges
    /// Whether the new file may lack parts of the old one that Sluice does not keep.
    let allowsLoss: Bool

    enum Ending: Sendable {
        case changed(ConversionReport)
        /// The file has all tags already.
        case unchanged
        case failed(Failure)
        case stopped(by: ExitCode)
    }

    /// Runs to the end, or until the first SIGINT, SIGTERM or SIGHUP.
    func run(in room: ForegroundRoom, showing display: ProgressDisplay) -> Ending {
        let result = room.run(showing: display, since: .now) { report -> Ending in
            do {
                return try change(in: room, report: report).map { .changed($0) } ?? .unchanged
            } catch {
                return .failed(Failure(of: error))
            }
        }
        display.clear()
        // A signal that arrives after the change does not undo it.
        if let signal = result.signal, case .failed = result.value { return .stopped(by: signal) }
        return result.value
    }

    /// `nil` if there is nothing to change.
    private func change(
        in room: ForegroundRoom,
        report: @escaping @Sendable (ConversionProgress) -> Void
    ) throws -> ConversionReport? {
        let paths = [path] + changes.extras.map(\.location)
        let sources = try SourceFiles.opening(paths) { path throws(StorageError) in try SourceFile.open(path) }
        // Of two changes at once, the second would undo the first.
        guard flock(sources.descriptors[0], LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else {
            throw Failure(.sourceChanged, at: .open, "another program has locked the file, perhaps to change it")
        }
        var options = ProbeOptions(nameHint: path)
        options.listsUnread = true
        let known = try room.describe(sources.descriptors[0], options, report: report)
        if changes.areMet(by: known, atPath: path) { return nil }
        let recipe = try recipe(for: known)
        guard let replaced = ReplacedFile(sources.descriptors[0]) else { throw Failure.sourceChanged() }
        try replaced.refuseReadOnly(path)
        var files = OutputSet()
        switch try OutputFile.prepare(at: path, onConflict: .replace, mode: .ofReplaced(replaced)) {
        case .skipped: return nil
        case .ready(let file): files.add(file)
        }
        let lacking = replaced.lacking(in: files.descriptors[0])
        if !lacking.isEmpty, !allowsLoss {
            let message = "the new file would not have \(lacking.joined(separator: ", "))"
            throw Failure(.lossRefused, at: .open, message, hint: Self.lossHint)
        }
        var work = RoomWork(recipe, from: sources.descriptors, to: files.descriptors)
        // If a file cannot be sealed, only the room's end stops further writes.
        work.endsRoom = !files.canBeSealed
        let written = try room.convert(work, report: report)[0]
        let hasWriters = files.seal(0) ?? false
        let bytes = try files.written(0)
        let evidence = OutputEvidence(byteCount: bytes.byteCount, hasHoles: bytes.hasHoles, hasWriters: hasWriters)
        if let objection = evidence.objection(to: written, Recipe.Limits()) { throw objection.failure }
        // Another program may have written to the file, changed its permissions, or put another one in its place. Only the
        // names are left to change.
        try files.flush()
        guard sources.areUnchanged, ReplacedFile(sources.descriptors[0]) == replaced,
            try SourceFile.open(path).identity == sources.identities[0]
        else { throw Failure.sourceChanged() }
        _ = try files.publish()
        return written
    }

    private static let lossHint = "use --allow-loss to change it anyway"

    /// Copies all packets into the same container.
    private func recipe(for report: SourceReport) throws -> Recipe {
        let container = try container(of: report)
        if report.isProtected { throw Failure(.protectedContent, at: .probe, "its sound is encrypted") }
        let others = report.otherStreams ?? 0
        guard report.tracks.count == 1, others == 0 else {
            let tracks = Plural.count(report.tracks.count, "audio track")
            let rest = others == 0 ? "" : " and \(Plural.count(others, "video or subtitle stream"))"
            let message = "it has \(tracks)\(rest); sluice tags changes only files with one audio track"
            let hint = "\"sluice convert --codec copy\" copies a track into a file of its own"
            throw Failure(.lossRefused, at: .probe, message, hint: hint)
        }
        if let unread = report.unreadParts, !unread.isEmpty, !allowsLoss {
            let message = "changing the tags would remove: \(unread.joined(separator: ", "))"
            throw Failure(.lossRefused, at: .probe, message, hint: Self.lossHint)
        }
        let format = AudioFormat(container: container, codec: .copy)
        // In recipes, an output never has the place of a source. No file is below another one.
        let output = Recipe.Output(location: "\(path)/tagged.\(container.fileExtensions[0])", format: format)
        var recipe = Recipe(from: Recipe.Source(location: path), to: output)
        recipe.sources += changes.extras
        recipe.tags = changes.tags(ofFile: path)
        recipe.chapters = changes.chapters
        recipe.strictLoss = !allowsLoss
        do throws(RecipeError) {
            try recipe.validate()
        } catch {
            throw Failure(.recipeRefused, at: .open, error.description)
        }
        return recipe
    }

    /// The container of the file, which may differ from what its name says.
    private func container(of report: SourceReport) throws -> Container {
        let ending = path.lastPathName?.ownExtension ?? ""
        let named = Container.forFileExtension(ending)?.0
        let found: Container? =
            switch report.container {
            case "aiff": named == .aifc || !Self.areInAIFF.contains(report.tracks.first?.codec ?? "") ? .aifc : .aiff
            case "mov": named == .m4a || named == .mp4 ? named : nil
            case "matroska": named == .webm ? .webm : ["mka", "mkv"].contains(ending.lowercased()) ? .mka : nil
            case "aac": .adts
            case "wv": .wavpack
            case "wav", "w64", "caf", "au", "flac", "mp3", "ogg": Container(rawValue: report.container)
            default: nil
            }
        if let found { return found }
        let message = "the tags of this kind of file cannot be changed: \(report.container)"
        let hint = "convert it; \"sluice formats\" lists what can be written"
        throw Failure(.formatRefused, at: .probe, message, hint: hint)
    }

    private static let areInAIFF: Set<String> = ["pcm_s8", "pcm_s16be", "pcm_s24be", "pcm_s32be"]
}
