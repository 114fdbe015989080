import Console
import Conversion
import Glibc
import Ledger
import Storage
import System

/// Looks at the files of a plan: its sources, and what exists at its destinations.
struct SubmitLook: Sendable {
    let plan: SubmitPlan
    let roots: PathRoots
    /// Whether to read existing outputs and compare them with their digests.
    var readsOutputs = false
    /// Progress of that comparison, for the thread that shows it.
    var reading = Latest(Reading())

    struct Reading: Sendable {
        var done = 0
        var total = 0
    }

    /// Combines `earlier` with the files on this machine. `earlier` holds the latest job of each destination; it is
    /// empty if the ledger was not asked.
    func survey(_ earlier: [EarlierJob?], isWanted: @Sendable () -> Bool = { true }) throws -> SubmitSurvey {
        let items = plan.items
        let stamps = Parallel.map(items.count) { stamp(of: items[$0].source) }
        // For each output of a job, what exists at the destinations of all jobs.
        var presences = plan.base.outputs.indices.map { self.presences($0, earlier) }
        if readsOutputs { readOutputs(&presences, earlier, isWanted) }
        var survey = SubmitSurvey(plan.conflict)
        var numbers = WorkNumbers()
        for (place, item) in items.enumerated() {
            let job = earlier.isEmpty ? nil : earlier[place]
            let work = job == nil ? 0 : try numbers.number(of: plan.recipe(item))
            let records = job.flatMap { $0.work == work ? $0.outputs : nil }
            let presence = SubmitSurvey.Presence(of: presences.map { $0[place] }, records)
            survey.classify(place, item, job, work: work, presence, stamps[place])
        }
        return survey
    }

    /// What the destination's latest job recorded of one of its outputs.
    private func record(_ output: Int, _ place: Int, _ earlier: [EarlierJob?]) -> PublishedFile? {
        guard !earlier.isEmpty, let outputs = earlier[place]?.outputs, output < outputs.count else { return nil }
        return outputs[output]
    }

    private func stamp(of source: Location) -> SourceStamp? {
        guard let path = roots.path(of: source), let facts = FileFacts.of(path: path, followingLinks: true) else {
            return nil
        }
        return SourceStamp(bytes: facts.byteCount, modified: facts.modifiedAt)
    }

    // MARK: - Destinations

    private func presences(_ output: Int, _ earlier: [EarlierJob?]) -> [SubmitSurvey.Presence] {
        let destinations = plan.items.map { $0.destinations[output] }
        var presences = [SubmitSurvey.Presence](repeating: .unseen, count: destinations.count)
        // Keyed by bytes: folders whose names only look the same are different.
        var folders: [[UInt8]: [Int]] = [:]
        for (place, destination) in destinations.enumerated() {
            folders[Array("\(destination.root):\(destination.folder)".utf8), default: []].append(place)
        }
        var lookedAt: [Int] = []
        for members in folders.values {
            let first = destinations[members[0]]
            guard let path = roots.path(of: first) else { continue }
            let folder = String(decoding: path.utf8.dropLast(first.name.utf8.count + 1), as: UTF8.self)
            let found = Self.names(in: folder, among: members.map { destinations[$0].name })
            for place in members {
                guard found.contains(destinations[place].name) else {
                    presences[place] = .absent
                    continue
                }
                presences[place] = .there
                // For a file that merely occupies the name, its existence is enough.
                let isOutput = record(output, place, earlier) != nil
                if isOutput || plan.conflict == .newer { lookedAt.append(place) }
            }
        }
        let places = lookedAt
        let looks = Parallel.map(places.count) { number -> SubmitSurvey.Presence in
            guard let path = roots.path(of: destinations[places[number]]) else { return .unseen }
            guard let facts = FileFacts.of(path: path, followingLinks: false) else {
                return errno == ENOENT ? .absent : .there
            }
            return .known(.init(isFile: facts.kind == .file, bytes: facts.byteCount, modified: facts.modifiedAt))
        }
        for (place, look) in zip(places, looks) { presences[place] = look }
        return presences
    }

    /// Those of `names` that exist in a folder. A few are looked up one by one, many by reading the folder.
    private static func names(in folder: String, among names: [String]) -> Set<String> {
        if names.count < 16 {
            return Set(names.filter { FileFacts.of(path: "\(folder)/\($0)", followingLinks: false) != nil })
        }
        // A folder that is missing or unreadable is left for the worker to report.
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var found: Set<String> = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            found.insert(name)
        }
        return found
    }

    /// Compares outputs of the recorded size with their digests. An unreadable output counts as different.
    private func readOutputs(
        _ presences: inout [[SubmitSurvey.Presence]],
        _ earlier: [EarlierJob?],
        _ isWanted: @Sendable () -> Bool
    ) {
        var work: [(output: Int, place: Int, path: String, digest: String)] = []
        for output in presences.indices {
            for place in plan.items.indices {
                guard case .known(let look) = presences[output][place], look.isFile,
                    let record = record(output, place, earlier), look.bytes == record.bytes, !record.digest.isEmpty,
                    let path = roots.path(of: plan.items[place].destinations[output])
                else { continue }
                work.append((output, place, path, record.digest))
            }
        }
        let outputs = work
        reading.value = Reading(done: 0, total: outputs.count)
        let fits = Parallel.map(outputs.count, grain: 1) { number in
            defer { _ = reading.change { $0.done += 1 } }
            return isWanted() && OutputReading.digest(of: outputs[number].path, isWanted) == outputs[number].digest
        }
        for (item, fits) in zip(outputs, fits) {
            guard case .known(var look) = presences[item.output][item.place] else { continue }
            look.hasDigest = fits
            presences[item.output][item.place] = .known(look)
        }
    }
}

extension EarlierJob {
    /// The record of each of its outputs; the digests are empty unless they were asked for. A single `nil` if it made
    /// none.
    fileprivate var outputs: [PublishedFile?] {
        [bytes.map { PublishedFile(digest: digest ?? "", bytes: $0) }] + further
    }
}
