import Console
import Conversion
import Glibc
import PumpRoom
import Storage
import System
import Worker

/// Checks whether this machine can run a worker: its roots, their free space, and the libraries.
struct MachineExamination: Sendable {
    let roots: [WorkerConfiguration.RootPlace]
    /// The user as which a worker is examined; `nil` if it is only the caller, who may run none.
    let user: String?
    /// For roots that are buckets.
    let buckets: BucketExamination

    /// In bytes: with less free space, `doctor` warns about a root.
    private static let littleRoom: UInt64 = 1 << 30

    func findings() async -> [Finding] {
        var findings = await rootFindings()
        do throws(RoomProgramError) {
            let libraries = try RoomLibraries.asking()
            findings.append(await Self.sandbox())
            findings.append(Self.codecs(libraries))
            findings += Self.release(warning: libraries.releaseWarning)
        } catch {
            findings.append(Self.rooms(error))
        }
        return findings
    }

    /// The finding for a program that cannot be used as a room.
    static func rooms(_ error: RoomProgramError) -> Finding {
        .fail("rooms", "\(error.message): this machine cannot start a pump room", error.hint)
    }

    /// What there is to say about the release of libav, apart from its codecs.
    static func release(warning: String?) -> [Finding] {
        guard let warning else { return [] }
        return [.warn("libav", warning, "use a tested release, or convert with --verify and compare some outputs")]
    }

    private static func codecs(_ libraries: RoomLibraries) -> Finding {
        let lacking = Set(Codec.allCases).subtracting(libraries.writableCodecs).map(\.rawValue).sorted()
        let release = "libav \(libraries.release)"
        guard lacking.isEmpty else {
            return .warn(
                "codecs",
                "\(release) cannot encode \(lacking.joined(separator: ", "))",
                "install a libav with these encoders; until then such jobs wait for other workers"
            )
        }
        return .ok("codecs", release)
    }

    /// Starts a room and reports how far it locks itself down.
    private static func sandbox() async -> Finding {
        var configuration = RoomConfiguration()
        configuration.usesForkServer = false
        let slot = RoomSlot(1, configuration: configuration, warn: { _ in })
        let level = await withTaskGroup { group -> RoomLevel? in
            group.addTask { await slot.reachedLevel() }
            group.addTask {
                do { try await Task.sleep(for: .seconds(10)) } catch {
                    // The room answered first.
                }
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        await slot.close()
        guard let level else {
            return .fail("sandbox", "this machine cannot start a pump room", "sluice probe FILE shows why")
        }
        guard let warning = level.warning else { return .ok("sandbox", "\(level)") }
        return .warn("sandbox", warning, advice(on: level, isFiltered: isFiltered))
    }

    /// What to do about the missing layers of a lock. `isFiltered`: this process runs under a filter of system calls.
    static func advice(on level: RoomLevel, isFiltered: Bool) -> String {
        let general = "a worker needs --sandbox best-effort here; see docs/security.md"
        let calls: [String] = level.missing.flatMap { missing -> [String] in
            switch missing.layer {
            case .landlock: ["landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"]
            case .seccomp: ["seccomp"]
            default: []
            }
        }
        guard isFiltered, !calls.isEmpty else { return general }
        return "the container or unit filters system calls; allow \(calls.joined(separator: ", ")) there "
            + "(docs/containers.md). Until then, \(general)"
    }

    /// Whether a container's runtime or a service manager filters the system calls of this process.
    private static var isFiltered: Bool {
        // `try?`: where /proc cannot be read, the advice is the general one.
        guard let status = try? SmallFile.read("/proc/self/status", for: "the state of this process") else {
            return false
        }
        return status.split(separator: "\n").contains { $0.hasPrefix("Seccomp:") && $0.last == "2" }
    }

    /// How long a root has for its answer.
    private static let patience = Duration.seconds(10)

    private func rootFindings() async -> [Finding] {
        let files = FileCalls()
        let watch = Task {
            // The time limit of a root. Cancelled as soon as all roots have answered.
            try await Task.sleep(for: Self.patience, clock: .continuous)
            files.stop()
        }
        defer { watch.cancel() }
        return await withTaskGroup(of: (Int, [Finding]?).self) { group in
            for (number, root) in roots.enumerated() {
                group.addTask {
                    if root.isBucket { return (number, await buckets.findings(of: root)) }
                    guard root.isFolder else { return (number, await WebServerFindings.findings(of: root)) }
                    return (number, await files.run(in: [root.name]) { Self.findings(of: root, as: user) })
                }
            }
            let found = await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            return roots.enumerated().flatMap { found[$0] ?? [Self.silence(of: $1)] }
        }
    }

    private static func silence(of root: WorkerConfiguration.RootPlace) -> Finding {
        .fail(
            "root \(root.name)".printable,
            "the file system at \(root.path.printable) has not answered for \(patience.components.seconds) s",
            "check its server and the network; workers leave the jobs of this root to others until it answers"
        )
    }

    private static func findings(of root: WorkerConfiguration.RootPlace, as user: String?) -> [Finding] {
        let subject = "root \(root.name)".printable
        do throws(StorageError) {
            try StorageRoot.open(name: root.name, path: root.path).check()
        } catch {
            let message = "\(error)".printable
            return [
                .fail(
                    subject,
                    message,
                    "mount it and let this user enter it, or start the worker without --root \(root.name)=...; its jobs wait for others"
                )
            ]
        }
        var facts = statvfs()
        guard statvfs(root.path, &facts) == 0 else {
            return [.warn(subject, "its free space cannot be read", "check \(root.path.printable)")]
        }
        let free = UInt64(facts.f_bavail) * UInt64(facts.f_frsize)
        let words = "\(root.path.printable), \(Figures.bytes(Int64(clamping: free))) free"
        // Nothing is written there, so neither its permissions nor its space matter.
        guard root.rules.mayWrite else { return [.ok(subject, "\(words), for sources only")] }
        let readOnly = "add :ro to the root if it holds sources only"
        if facts.f_flag & UInt(ST_RDONLY) != 0 {
            return [.warn(subject, "\(words), read-only", "mount it for writing, or \(readOnly)")]
        }
        if access(root.path, W_OK) != 0 {
            let advice =
                user.map { "sudo chown \(ShellWord.quoted($0)) \(ShellWord.quoted(root.path)) lets it write outputs" }
                ?? "a worker that runs as this user could not write outputs there"
            return [.warn(subject, "\(words), not writable by this user", "\(advice.printable); \(readOnly)")]
        }
        guard free >= littleRoom else { return [.warn(subject, words, "free space: a full disk pauses the worker")] }
        return [.ok(subject, words)]
    }
}
