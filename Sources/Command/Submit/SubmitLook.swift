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
    var reading = Latest(SubmitProgress.Count())
    /// How many items have been compared with earlier jobs and with the files on this machine.
    var compared = Latest(SubmitProgress.Count())

    /// Combines `earlier` with the files on this machine. `earlier` holds the latest job of each destination; it is
    /// empty if the ledger was not asked. `moved` has the earlier sources of items of which some were sent in another state,
    /// and `remote` what exists of the outputs of some items on other machines.
    func survey(
        _ earlier: EarlierJobList,
        moved: [Int: [Location]] = [:],
        remote: [Int: [SubmitSurvey.Presence]] = [:],
        isWanted: @Sendable () -> Bool = { true }
    ) throws -> SubmitSurvey {
        let items = plan.items
        // For each job, what exists at the destinations of its outputs.
        var presences = self.presences(earlier)
        if readsOutputs { readOutputs(&presences, earlier, isWanted) }
        for (place, found) in remote { presences[place] = found }
        var survey = SubmitSurvey(plan.conflict, onAltered: plan.onAltered)
        survey.reserveCapacity(items.count)
        var numbers = WorkNumbers()
        var stamps: [SourceStamp?] = []
        for place in items.indices {
            let item = items[place]
            if place % Self.together == 0 {
                stamps = Parallel.map(min(Self.together, items.count - place)) { stamp(of: items[place + $0]) }
                compared.value = SubmitProgress.Count(done: place, total: items.count)
            }
            let job = earlier.isEmpty ? nil : earlier[place]
            // A file that was sent lies where its earlier time and size lead.
            let sent = job?.stamp.flatMap { roots.uploads?.earlier(item.source, as: $0) }
            let sources = moved[place] ?? sent.map { [$0] + item.sources.dropFirst() }
            let work = job == nil ? 0 : try numbers.number(of: plan.recipe(item, from: sources))
            let records = job.flatMap { $0.work == work ? $0.outputs : nil }
            let presence = SubmitSurvey.Presence(of: presences[place], records)
            survey.classify(
                place,
                item,
                job,
                work: work,
                presence,
                of: presences[place],
                stamps[place % Self.together],
                hasMoved: moved[place] != nil
            )
        }
        return survey
    }

    /// The threads look at this many sources before their items are classified.
    private static let together = 16_384

    /// What the destination's latest job recorded of one of its outputs.
    private func record(_ output: Int, _ place: Int, _ earlier: EarlierJobList) -> PublishedFile? {
        guard !earlier.isEmpty, let outputs = earlier[place]?.outputs, output < outputs.count else { return nil }
        return outputs[output]
    }

    /// The stamp of the source, or that of all files of a book.
    private func stamp(of item: SubmitPlan.Item) -> SourceStamp? {
        if let stamp = item.stamp { return stamp }
        // The place of a file that was sent follows from its own stamp.
        guard item.book != nil, roots.uploads?.file(at: item.source) == nil else { return stamp(of: item.source) }
        var files: [(place: String, stamp: SourceStamp)] = []
        for source in item.sources {
            guard let next = stamp(of: source) else { return nil }
            files.append((source.description, next))
        }
        return SourceStamp.whole(files)
    }

    private func stamp(of source: Location) -> SourceStamp? {
        guard let path = roots.path(of: source), let facts = FileFacts.of(path: path, followingLinks: true) else {
            return nil
        }
        return SourceStamp(bytes: facts.byteCount, modified: facts.modifiedAt)
    }

    // MARK: - Destinations

    private typealias Spot = SubmitPlan.Items.Spot

    private func presences(_ earlier: EarlierJobList) -> [[SubmitSurvey.Presence]] {
        let items = plan.items
        // Jobs with one output share these arrays until something is found.
        let (unseen, absent): ([SubmitSurvey.Presence], [SubmitSurvey.Presence]) = ([.unseen], [.absent])
        var presences = items.indices.map { place in
            let count = items.destinationCount(of: place)
            return count == 1 ? unseen : [SubmitSurvey.Presence](repeating: .unseen, count: count)
        }
        // The numbers of the outputs in each folder, by the bytes of its path: folders whose names only look the same are
        // different.
        var folders: [[UInt8]: [UInt32]] = [:]
        for number in 0..<items.destinationCount {
            let destination = items.destination(number)
            let folder = Array("\(destination.root):\(destination.folder)".utf8)
            folders[folder, default: []].append(UInt32(number))
        }
        var lookedAt: [Spot] = []
        for members in folders.values {
            let first = items.destination(Int(members[0]))
            guard let path = roots.path(of: first) else { continue }
            let folder = String(decoding: path.utf8.dropLast(first.name.utf8.count + 1), as: UTF8.self)
            let names = members.lazy.map { items.destination(Int($0)).name }
            let found = Self.names(in: folder, among: names)
            for (number, name) in zip(members, names) {
                let spot = items.spot(Int(number))
                guard !found.isEmpty, found.contains(name) else {
                    if presences[spot.place].count == 1 {
                        presences[spot.place] = absent
                    } else {
                        presences[spot.place][spot.output] = .absent
                    }
                    continue
                }
                presences[spot.place][spot.output] = .there
                // For a file that merely occupies the name, its existence is enough.
                let isOutput = record(spot.output, spot.place, earlier) != nil
                if isOutput || plan.conflict == .newer { lookedAt.append(spot) }
            }
        }
        let spots = lookedAt
        let looks = Parallel.map(spots.count) { number -> SubmitSurvey.Presence in
            guard let path = roots.path(of: items.destination(spots[number])) else { return .unseen }
            guard let facts = FileFacts.of(path: path, followingLinks: false) else {
                return errno == ENOENT ? .absent : .there
            }
            return .known(.init(isFile: facts.kind == .file, bytes: facts.byteCount, modified: facts.modifiedAt))
        }
        for (spot, look) in zip(lookedAt, looks) { presences[spot.place][spot.output] = look }
        return presences
    }

    /// Those of `names` that exist in a folder. A few are looked up one by one, many by reading the folder.
    private static func names(in folder: String, among names: some Collection<String>) -> Set<String> {
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
        _ earlier: EarlierJobList,
        _ isWanted: @Sendable () -> Bool
    ) {
        var work: [(output: Int, place: Int, path: String, digest: String)] = []
        for place in presences.indices {
            for output in presences[place].indices {
                guard case .known(let look) = presences[place][output], look.isFile,
                    let record = record(output, place, earlier), look.bytes == record.bytes, !record.digest.isEmpty,
                    let path = roots.path(of: plan.items.destination(Spot(place: place, output: output)))
                else { continue }
                work.append((output, place, path, record.digest))
            }
        }
        let outputs = work
        reading.value = SubmitProgress.Count(total: outputs.count)
        let fits = Parallel.map(outputs.count, grain: 1) { number in
            defer { _ = reading.change { $0.done += 1 } }
            return isWanted() && OutputReading.digest(of: outputs[number].path, isWanted) == outputs[number].digest
        }
        for (item, fits) in zip(outputs, fits) {
            guard case .known(var look) = presences[item.place][item.output] else { continue }
            look.hasDigest = fits
            presences[item.place][item.output] = .known(look)
        }
    }
}

extension EarlierJob {
    /// The record of each of its outputs; the digests are empty unless they were asked for. A single `nil` if it made
    /// none.
    var outputs: [PublishedFile?] {
        [bytes.map { PublishedFile(digest: digest ?? "", bytes: $0) }] + further
    }
}
