import Foundation
import TestSupport

/// The environment of the benches: the programs, the core they are pinned to, and folders for input and output.
struct Workbench {
    let isQuick: Bool
    let rounds: Int?
    /// The program that converts with Media.
    let ours: String
    /// The command.
    let sluice: String
    /// The C program that calls libav by hand.
    let floor: String
    /// The core on which everything that is timed runs.
    let core: Int
    /// In memory if the machine has enough, so that the disk does not affect the times.
    let fastFolder: BenchFolder
    /// In the temporary directory, for files that are too large for memory.
    let largeFolder: BenchFolder

    init(_ options: Options) throws {
        isQuick = options.isQuick
        rounds = options.rounds
        let here = URL(filePath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        ours = try Self.find("bench-ours", beside: here, "swift build -c release --product bench-ours")
        sluice = try Self.builtSluice()
        floor = try Self.find("floor", beside: here, "make -C Benches/floor")
        core = try Self.lastCore()
        largeFolder = try BenchFolder.create(in: ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp")
        let memory = "/dev/shm"
        // A machine without enough of it measures on disk, which shows in the times.
        let isRoomy = try access(memory, W_OK) == 0 && BenchFolder.freeBytes(in: memory) > 4 << 30
        fastFolder = isRoomy ? try BenchFolder.create(in: memory) : largeFolder
    }

    /// Looks beside this program and in the folders above it.
    private static func find(_ name: String, beside program: URL, _ command: String) throws -> String {
        var folder = program.deletingLastPathComponent()
        while folder.path.count > 1 {
            let found = folder.appending(path: name, directoryHint: .notDirectory).path
            if FileManager.default.isExecutableFile(atPath: found) { return found }
            folder = folder.deletingLastPathComponent()
        }
        throw SupportError("find the program \(name)", "build it first: \(command)")
    }

    /// The command, for sections that need nothing else.
    static func builtSluice() throws -> String { try built("sluice") }

    /// A program that only some sections need.
    func built(_ name: String) throws -> String { try Self.built(name) }

    private static func built(_ name: String) throws -> String {
        let here = URL(filePath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        return try find(name, beside: here, "swift build -c release --product \(name) --static-swift-stdlib")
    }

    /// The last core that this process may use: the first one serves more interrupts.
    private static func lastCore() throws -> Int {
        let cores = try ProcFile.value("Cpus_allowed_list", in: "/proc/self/status")
        guard let last = cores?.split(whereSeparator: { !$0.isNumber }).last, let core = Int(last) else {
            throw SupportError("choose a core", "/proc/self/status names none")
        }
        return core
    }
}

/// A new folder, removed with its contents when the last reference is released.
final class BenchFolder: Sendable {
    /// The full path, without a slash at the end.
    let path: String

    private init(adopting path: String) { self.path = path }

    deinit {
        // `try?`: what cannot be removed stays behind. The run has ended, and its report was printed.
        try? FileManager.default.removeItem(atPath: path)
    }

    static func create(in parent: String) throws -> BenchFolder {
        var template = Array("\(parent)/sluice-bench-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SupportError("create a folder in \(parent)", errno: errno) }
        return BenchFolder(adopting: String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self))
    }

    /// A folder in this one, created if necessary.
    func folder(_ name: String) throws -> String {
        let path = "\(self.path)/\(name)"
        guard mkdir(path, 0o755) == 0 || errno == EEXIST else { throw SupportError("create \(path)", errno: errno) }
        return path
    }

    var freeBytes: Int { get throws { try Self.freeBytes(in: path) } }

    static func freeBytes(in path: String) throws -> Int {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { throw SupportError("read the free space of \(path)", errno: errno) }
        return Int(status.f_bavail) * Int(status.f_frsize)
    }
}
