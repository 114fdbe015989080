import API
import Console
import Conversion
import FoundationEssentials
import Ledger
import LedgerClient
import Storage
import System

/// Compares outputs with what the ledger recorded. It works page by page, so memory does not grow with their
/// number.
struct OutputCheck: Sendable {
    /// The counts of a check.
    struct Tally: Sendable {
        /// Outputs that match the filter, counted before the check starts. One that several jobs share counts once, here
        /// and in all other counts.
        var total = 0
        /// Outputs examined so far. `fine` counts the unchanged ones, and `bytes` is their total size.
        var done = 0
        var bytes: Int64 = 0
        var fine = 0
        /// Those of `fine` that were made by a later job than the one that the filter found.
        var replaced = 0
        /// Outputs that changed during the check, so that their state is unknown.
        var busy = 0
        /// Outputs under roots that are not on this machine, and that no coordinator has compared.
        var unseen = 0
        var unseenRoots: Set<String> = []
        var found: [OutputFinding.Kind: Int] = [:]

        var damaged: Int { found.values.reduce(0, +) }

        mutating func addUnseen(_ destination: String) {
            unseen += 1
            unseenRoots.insert(String(destination.prefix { $0 != ":" }))
        }
    }

    let ledger: any CommandLedger
    let roots: PathRoots
    /// Compares outputs under roots that are not on this machine; `nil` if no coordinator does.
    let remote: RemoteOutputCheck?
    /// How many files are read at one time, or compared by the coordinator.
    let width: Int
    /// True once the caller has stopped waiting.
    let isStopped: Latest<Bool>

    private static let pageSize: Int32 = 1_000
    /// How many destinations are remembered, as hashes. Of more, some that jobs share may count again: a check takes
    /// constant memory.
    private static let mostRemembered = 1_000_000

    /// An output that is not what its job recorded.
    private struct Suspect {
        let output: RecordedOutput
        /// Whether its destination has been counted, for another job.
        let isCounted: Bool
    }

    /// Calls `report` after each page, and `find` once for each output that has changed or is missing.
    func run(
        _ filter: JobFilter,
        report: @escaping @Sendable (Tally) -> Void,
        find: (OutputFinding) throws -> Void
    ) async throws -> Tally {
        var tally = Tally()
        tally.total = try await ledger.count(matching: filter)
        report(tally)
        let rootsHere = Set(roots.roots.filter { isFolder($0.path) }.map(\.name))
        var known: Set<String> = []
        var counted: Set<Int> = []
        var cursor: JobCursor?
        repeat {
            let page = try await ledger.outputs(matching: filter, after: cursor, limit: Self.pageSize)
            // The count before the check is one of jobs.
            tally.total += page.outputs.count - Set(page.outputs.map(\.job)).count
            let started = tally
            let looks = try await look(at: page.outputs.map { RecordedPlace($0) }, rootsHere) { done in
                var now = started
                now.done += done
                report(now)
            }
            try Task.checkCancellation()
            var suspects: [Suspect] = []
            for (output, look) in zip(page.outputs, looks) {
                let hash = output.destination.hashValue
                let isCounted = counted.contains(hash)
                if !isCounted, counted.count < Self.mostRemembered { counted.insert(hash) }
                if isCounted { tally.total -= 1 } else { tally.done += 1 }
                switch look {
                case .fine where isCounted, .unseen where isCounted, .unwanted: break
                case .fine:
                    tally.fine += 1
                    tally.bytes += output.bytes
                case .unseen: tally.addUnseen(output.destination)
                case .damaged: suspects.append(Suspect(output: output, isCounted: isCounted))
                }
            }
            for (finding, isCounted) in try await confirmed(suspects, &tally) {
                guard known.insert(finding.destination).inserted else { continue }
                // The record of another job fits the file, but that job was not the last.
                if isCounted { tally.fine = max(0, tally.fine - 1) }
                tally.found[finding.kind, default: 0] += 1
                try find(finding)
            }
            report(tally)
            cursor = page.next
        } while cursor != nil
        return tally
    }

    private func isFolder(_ path: String) -> Bool {
        FileFacts.of(path: path.isEmpty ? "/" : path, followingLinks: true)?.kind == .folder
    }

    /// The file at a destination as a job recorded it.
    struct RecordedPlace: Sendable {
        let job: Int64
        let destination: String
        let bytes: Int64
        let digest: String

        init(job: Int64, destination: String, bytes: Int64, digest: String) {
            (self.job, self.destination, self.bytes, self.digest) = (job, destination, bytes, digest)
        }

        /// With the record of the job that made the file last, if that is another one.
        init(_ output: RecordedOutput, _ maker: OutputMaker? = nil) {
            job = maker?.job ?? output.job
            destination = output.destination
            (bytes, digest) = (maker?.file?.bytes ?? output.bytes, maker?.file?.digest ?? output.digest)
        }
    }

    private func look(
        at places: [RecordedPlace],
        _ rootsHere: Set<String>,
        _ report: @escaping @Sendable (Int) -> Void
    ) async throws -> [OutputReading.Look] {
        let done = Latest(0)
        var looks = Parallel.map(places.count, grain: 1, width: width) { index in
            let place = places[index]
            let found = look(at: place.destination, place.bytes, place.digest, rootsHere)
            if remote == nil || found != .unseen { report(done.add(1)) }
            return found
        }
        guard let remote else { return looks }
        let elsewhere = looks.indices.filter { looks[$0] == .unseen }
        let found = try await remote.look(at: elsewhere.map { places[$0] }, width: width) { report(done.add(1)) }
        for (index, look) in zip(elsewhere, found) { looks[index] = look }
        return looks
    }

    private func look(
        at destination: String,
        _ bytes: Int64,
        _ digest: String,
        _ rootsHere: Set<String>
    ) -> OutputReading.Look {
        if isStopped.value { return .unwanted }
        // A destination that is not a location cannot be examined and counts as unseen.
        guard let location = try? Location(destination), rootsHere.contains(location.root),
            let path = roots.path(of: location)
        else { return .unseen }
        return OutputReading.look(at: path, bytes: bytes, digest: digest) { !isStopped.value }
    }

    // MARK: - Confirming findings

    /// Findings for those of `suspects` that no later job has replaced or is about to replace.
    ///
    /// This asks the ledger which job made the file last, compares the file with what that job recorded, and asks the
    /// ledger again. The output counts as damaged only if nothing changed in between; one that keeps changing counts
    /// as busy after three rounds.
    private func confirmed(_ suspects: [Suspect], _ tally: inout Tally) async throws -> [(
        OutputFinding, isCounted: Bool
    )] {
        var (open, findings): ([Suspect], [(OutputFinding, isCounted: Bool)]) = (suspects, [])
        let rootsHere = Set(roots.roots.map(\.name))
        for _ in 0..<3 where !open.isEmpty {
            let judged = open
            let before = try await ledger.makers(of: judged.map(\.output))
            let places = zip(judged, before).map { RecordedPlace($0.output, Self.last($1)) }
            let looks = try await look(at: places, rootsHere) { _ in }
            try Task.checkCancellation()
            let after = try await ledger.makers(of: judged.map(\.output))
            open = []
            for (place, suspect) in judged.enumerated() {
                let output = suspect.output
                let maker = Self.last(before[place])
                guard case .damaged(let kind, let detail) = looks[place] else {
                    if suspect.isCounted { continue }
                    if looks[place] == .unseen {
                        tally.addUnseen(output.destination)
                        continue
                    }
                    tally.fine += 1
                    tally.bytes += maker?.file?.bytes ?? output.bytes
                    if let maker, maker.job != output.job { tally.replaced += 1 }
                    continue
                }
                guard maker == Self.last(after[place]), !after[place].contains(where: { $0.state == .publishing })
                else {
                    open.append(suspect)
                    continue
                }
                let finding = OutputFinding(
                    job: maker?.job ?? output.job,
                    source: output.source,
                    destination: output.destination,
                    kind: kind,
                    detail: detail,
                    isUnderWay: after[place].contains { !$0.state.isEnd }
                )
                findings.append((finding, suspect.isCounted))
            }
        }
        tally.busy += open.count { !$0.isCounted }
        return findings
    }

    /// The job that made the present file: the last to be completed.
    private static func last(_ makers: [OutputMaker]) -> OutputMaker? {
        makers.filter { $0.state == .completed && $0.file != nil }.max {
            ($0.endedAt ?? .distantPast, $0.job) < ($1.endedAt ?? .distantPast, $1.job)
        }
    }
}

extension Latest where Value == Int {
    /// Adds `count` and returns the new value.
    func add(_ count: Int) -> Int { change { value in value += count } }
}
