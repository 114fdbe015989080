import API
import Console
import Conversion
import Ledger
import LedgerClient

/// Jobs of a submission that no running worker can do, and what the user may do about it.
struct SubmitGaps: Sendable {
    private(set) var all: [WorkerGap] = []
    /// Whether no worker is running.
    private(set) var lacksWorkers = false
    /// The roots of the running workers; `nil` if the caller may not see them.
    private(set) var roots: [String]?
    /// The roots of the private cluster, which has one worker; `nil` for another ledger.
    var clusterRoots: [String]?
    /// The addresses of roots that are buckets or on web servers, by name. The private cluster takes none.
    var servers: [String: String] = [:]

    init() {}

    /// Asks what of `needs`, each of them those of a job, no running worker has.
    init(_ needs: [[String]], in queue: String, on ledger: any CommandLedger) async throws {
        guard !needs.isEmpty else { return }
        do {
            let workers = try await ledger.workers(endedSince: nil)
            let now = try await ledger.time()
            all = WorkerGap.all(in: needs, among: workers, at: now)
            let alive = workers.filter { $0.state(at: now).isAlive }
            lacksWorkers = alive.isEmpty
            let names = alive.flatMap(\.abilities).filter { $0.hasPrefix(Self.rootPrefix) }
            roots = Set(names).map { String($0.dropFirst(Self.rootPrefix.count)) }.sorted()
        } catch let error as LedgerError where error.code == .ledgerPermissionDenied {
            // A tenant learns how many workers there are, but not which. Of its jobs it learns all.
            lacksWorkers = try await ledger.status().workers == 0
            all =
                lacksWorkers
                ? needs.map { WorkerGap(needs: $0, missing: $0) }
                : WorkerGap.all(in: needs, among: try await ledger.unableLanes(), queue: queue)
        }
    }

    /// `nil` if there are none.
    var record: [WorkerGap]? { all.isEmpty ? nil : all }

    private static let rootPrefix = AbilityWord.root("")

    /// What to tell the user: `no running worker has root archive: these jobs wait; ...`.
    var notes: [String] {
        if lacksWorkers {
            let way = roots == nil ? "ask an operator" : "start one with \"\(command(all))\""
            return all.isEmpty ? [] : ["no workers are running: the jobs wait; \(way)"]
        }
        var told: Set<String> = []
        return all.compactMap { gap in
            guard told.insert(gap.note).inserted else { return nil }
            // Who may not see the workers cannot start one, either.
            guard let roots else { return "\(gap.note): these jobs wait; ask an operator" }
            let isOfRoots = gap.missing.contains { $0.hasPrefix(Self.rootPrefix) }
            let known = isOfRoots ? "; the running workers have \(Self.list(roots))" : ""
            return "\(gap.note): these jobs wait\(known); \(way(gap, isOfRoots: isOfRoots))"
        }
    }

    /// What closes a gap.
    private func way(_ gap: WorkerGap, isOfRoots: Bool) -> String {
        guard clusterRoots != nil, !needServers([gap]) else {
            return "start a worker with \"\(command([gap]))\", or see \"sluice workers\""
        }
        return isOfRoots ? "add the missing roots with \"\(command([gap]))\"" : "see \"sluice workers\""
    }

    private static func list(_ roots: [String]) -> String {
        if roots.isEmpty { return "no roots" }
        let more = roots.count > 10 ? ", ..." : ""
        return "\(roots.count == 1 ? "root" : "roots") \(roots.prefix(10).joined(separator: ", "))\(more)".printable
    }

    /// Whether the workers lack a root that is a bucket or on a web server.
    private func needServers(_ gaps: [WorkerGap]) -> Bool {
        let lacking = gaps.flatMap(\.missing).filter { $0.hasPrefix(Self.rootPrefix) }
        return lacking.contains { servers[String($0.dropFirst(Self.rootPrefix.count))] != nil }
    }

    /// Starts a worker with the roots that jobs need: `sluice worker --root local=/`. Adds them to those of the private
    /// cluster, except buckets and web servers: another worker has these, with the same folders.
    private func command(_ gaps: [WorkerGap]) -> String {
        let own = Dictionary((clusterRoots ?? []).map { (String($0.prefix { $0 != "=" }), $0) }) { first, _ in first }
        let isOfAnother = clusterRoots == nil || needServers(gaps)
        let needed = gaps.flatMap(\.needs).filter { $0.hasPrefix(Self.rootPrefix) }
        let names = Set(needed.map { String($0.dropFirst(Self.rootPrefix.count)) })
        let words = names.sorted().compactMap { name -> String? in
            if let known = own[name] { return isOfAnother ? " --root \(ShellWord.quoted(known))" : nil }
            if let address = servers[name] { return " --root \(ShellWord.quoted("\(name)=\(address)"))" }
            // The private cluster keeps to some folders, so its root is not known to be `/`.
            return " --root \(name)=\(name == PathRoots.usual.name && clusterRoots == nil ? "/" : "PATH")"
        }
        let start = isOfAnother ? "sluice worker" : clusterRoots.map(UpCommand.line) ?? "sluice worker"
        return "\(start)\(words.joined())".printable
    }
}
