import FoundationEssentials
import Glibc

/// What runs in the private cluster, as its supervisor last wrote it down.
struct ClusterState: Sendable, Codable, Equatable {
    var supervisor: ProcessIdentity?
    var postgres: ProcessIdentity?
    var coordinator: ProcessIdentity?
    var worker: ProcessIdentity?
    /// With how many slots the worker was started.
    var slots: Int?
    /// Whether all parts have been started and the ledger is up to date.
    var isReady = false
    /// Why it is not, if something stands in the way.
    var problem: String?
    var hint: String?

    /// What was written down; empty if nothing was.
    static func read(_ place: ClusterPlace) -> ClusterState {
        // A state that cannot be read says as little as none: what runs is then found by the files of those that run.
        JSONFile.read(ClusterState.self, place.state) ?? ClusterState()
    }

    func write(_ place: ClusterPlace) throws(ClusterError) { try JSONFile.write(self, to: place.state) }
}

/// What the person asked for, kept for the next start.
struct ClusterWishes: Sendable, Codable, Equatable {
    /// Conversions at one time; `nil` is one per core.
    var slots: Int?

    static func read(_ place: ClusterPlace) -> ClusterWishes {
        JSONFile.read(ClusterWishes.self, place.wishes) ?? ClusterWishes()
    }

    func write(_ place: ClusterPlace) throws(ClusterError) { try JSONFile.write(self, to: place.wishes) }
}

/// Values in small files that are replaced whole.
enum JSONFile {
    /// The value; `nil` if there is none, or none that can be read: the caller starts from nothing then.
    static func read<Value: Decodable>(_ type: Value.Type, _ path: String) -> Value? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = Glibc.read(file, &bytes, bytes.count)
        guard count > 0 else { return nil }
        do {
            return try JSONDecoder().decode(type, from: Data(bytes.prefix(count)))
        } catch {
            // What another version wrote may not be what this one knows; it is written anew.
            return nil
        }
    }

    static func write(_ value: some Encodable, to path: String) throws(ClusterError) {
        let bytes: [UInt8]
        do {
            bytes = Array(try JSONEncoder().encode(value))
        } catch {
            throw ClusterError("cannot write \(path): \(error)", exitCode: .failure)
        }
        let temporary = path + ".new"
        let file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw ClusterError(errno, "write \(temporary)") }
        let count = Glibc.write(file, bytes, bytes.count)
        let number = errno
        close(file)
        guard count == bytes.count else { throw ClusterError(number, "write \(temporary)") }
        guard rename(temporary, path) == 0 else { throw ClusterError(errno, "name \(path)") }
    }
}
