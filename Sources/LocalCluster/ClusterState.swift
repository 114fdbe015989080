import FoundationEssentials
import Glibc

/// The parts of the private cluster, as the supervisor last recorded them.
package struct ClusterState: Sendable, Codable, Equatable {
    package var supervisor: ProcessIdentity?
    package var postgres: ProcessIdentity?
    package var coordinator: ProcessIdentity?
    package var worker: ProcessIdentity?
    /// The number of slots that the worker was started with; `nil` while it starts.
    package var slots: Int?
    /// The roots of the worker and the coordinator, as in their options; `nil` before the first start.
    package var roots: [String]?
    /// The page of the coordinator; `nil` before the first start, and with the supervisor of an earlier release.
    package var page: ClusterPage?
    /// Whether the coordinator got an address for its page, by which browsers reach it; `nil` if none was started.
    package var pageHasAddress: Bool?
    /// Whether all parts have been started and the ledger is up to date.
    var isReady = false
    /// Why the start failed, if it did.
    var problem: String?
    var hint: String?

    /// The recorded state; empty if there is none.
    static func read(_ place: ClusterPlace) -> ClusterState {
        // A state that cannot be read counts as none.
        JSONFile.read(ClusterState.self, place.state) ?? ClusterState()
    }

    func write(_ place: ClusterPlace) throws(ClusterError) { try JSONFile.write(self, to: place.state) }

    /// Whether the worker runs with so many slots and these roots, and the coordinator with this page; `nil` stands for any.
    func has(_ slots: Int?, _ roots: [String]?, _ page: ClusterPage? = nil) -> Bool {
        guard let running = self.slots else { return false }
        guard slots ?? running == running, roots ?? self.roots == self.roots else { return false }
        return page ?? self.page == self.page
    }
}

/// Whether the coordinator serves a page, and where.
package struct ClusterPage: Sendable, Codable, Hashable {
    package var isServed: Bool
    /// The port on this machine; `nil`: the system chooses one at each start.
    package var port: UInt16?

    package init(isServed: Bool = true, port: UInt16? = nil) { (self.isServed, self.port) = (isServed, port) }
}

/// The settings that the user asked for, kept for the next start.
struct ClusterWishes: Sendable, Codable, Equatable {
    /// Number of conversions at one time; `nil` means one per core.
    var slots: Int?
    /// The roots, as in options of the worker; `nil` means those of the last start, and at first the user's home.
    var roots: [String]?
    /// `nil`: it is served, at a port that the system chooses.
    var page: ClusterPage?

    static func read(_ place: ClusterPlace) -> ClusterWishes {
        JSONFile.read(ClusterWishes.self, place.wishes) ?? ClusterWishes()
    }

    func write(_ place: ClusterPlace) throws(ClusterError) { try JSONFile.write(self, to: place.wishes) }
}

/// Values in small files, each replaced as a whole.
enum JSONFile {
    /// The value; `nil` if there is none or it cannot be read. The caller then starts from defaults.
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
            // Another version may have written a format unknown to this one; the caller overwrites it.
            return nil
        }
    }

    static func write(_ value: some Encodable, to path: String) throws(ClusterError) {
        let bytes: [UInt8]
        do {
            bytes = Array(try JSONEncoder().encode(value))
        } catch {
            throw ClusterError("cannot write \(path): \(error)", code: .failure)
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
