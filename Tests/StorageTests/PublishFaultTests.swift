import Foundation
import Storage
import TestSupport
import Testing

/// Publishes in a process that is killed at every system call, or gets an error from it.
struct PublishFaultTests {
    /// A way to publish: how the file is written, the conflict policy, and the content of an existing file, if any.
    struct Way: CustomTestStringConvertible {
        let mode: String
        let policy: String
        let old: String?

        var testDescription: String { "\(mode), \(policy)\(old == nil ? "" : " what exists")" }

        /// A process that publishes in this way into `folder`. Writes the existing file first.
        func process(in folder: TemporaryFolder) throws -> StorageProcess {
            let process = StorageProcess(destination: folder.path("out.wav"), policy: policy, mode: mode)
            if let old { try Bytes.write(Array(old.utf8), to: process.destination) }
            return process
        }

        /// The system calls of this way.
        func calls() throws -> [Strace.Call] {
            let folder = try TemporaryFolder.create()
            return try withExtendedLifetime(folder) { try Strace.calls(of: process(in: folder)) }
        }
    }

    static let ways = ["unnamed", "hidden"].flatMap { mode in
        [
            Way(mode: mode, policy: "fail", old: nil), Way(mode: mode, policy: "replace", old: nil),
            Way(mode: mode, policy: "replace", old: "the old file"),
        ]
    }

    /// The state of the destination.
    enum Found: Equatable {
        case nothing, old, whole
        case torn(Int)

        init(_ process: StorageProcess, _ way: Way) throws {
            guard FileManager.default.fileExists(atPath: process.destination) else {
                self = .nothing
                return
            }
            let bytes = try Bytes.read(process.destination)
            let isWhole = bytes.count == process.byteCount && bytes.allSatisfy { $0 == process.byte }
            self = isWhole ? .whole : bytes == way.old.map { Array($0.utf8) } ? .old : .torn(bytes.count)
        }
    }

    // MARK: - Killed

    @Test(arguments: ways)
    func killedAnywhereTheDestinationIsAsBeforeOrWhole(way: Way) throws {
        let calls = try way.calls()
        #expect(calls.contains { $0.name == "fsync" })
        let before: Found = way.old == nil ? .nothing : .old
        var seen: [Found] = []
        var leftovers = 0
        for call in calls {
            let folder = try TemporaryFolder.create()
            let process = try way.process(in: folder)
            let run = try process.run(behind: Strace.words(["\(call.name):signal=SIGKILL:when=\(call.number)"]))
            if call.name == "exit_group" || call.text.hasPrefix("write(1,") { continue }
            #expect(run.status == .signalled(SIGKILL), "\(call)")

            let found = try Found(process, way)
            #expect(found == before || found == .whole, "\(call)")
            seen.append(found)
            let strangers = try folder.names().filter { $0 != "out.wav" }
            #expect(strangers == [] || strangers == [".out.wav.sluice-1.part"], "\(call)")
            leftovers += strangers.count
            if way.mode == "unnamed" && way.old == nil { #expect(strangers == [], "\(call)") }

            // The first run does not hinder the next one.
            let isTaken = way.policy == "fail" && found == .whole
            #expect(try process.outcome() == (isTaken ? "destination_exists at open" : "published"), "\(call)")
            // A run that finds the name taken sweeps nothing, but in that case the first run left nothing either.
            #expect(try folder.names() == ["out.wav"], "\(call)")
        }
        // Once the output is whole, it stays whole. Both states occur, so the calls cover the whole way.
        #expect(seen.first == before && seen.last == .whole)
        let turn = try #require(seen.firstIndex(of: .whole))
        #expect(seen[turn...].allSatisfy { $0 == .whole })
        if way.mode == "unnamed" && way.old != nil { #expect(leftovers == 1) }
        if way.mode == "hidden" { #expect(leftovers > 1) }
    }

    // MARK: - Refused

    @Test(arguments: ways, ["EIO", "ENOSPC", "EACCES", "ESTALE"])
    func refusedAnywhereNothingIsTornAndSuccessIsTrue(way: Way, refusal: String) throws {
        // A process that runs out of memory traps, which the test of kills covers.
        let others: Set = ["brk", "mmap", "munmap", "mprotect", "futex", "exit_group"]
        for call in try way.calls() where !call.text.hasPrefix("write(1,") && !others.contains(call.name) {
            let folder = try TemporaryFolder.create()
            let process = try way.process(in: folder)
            let injection = "\(call.name):error=\(refusal):when=\(call.number)"
            let run = try process.run(behind: Strace.words([injection]))
            let said = run.outputText.trimmingCharacters(in: .whitespacesAndNewlines)
            let found = try Found(process, way)
            switch run.status {
            case .exited(0):
                #expect(said == "published" && found == .whole, "\(call)")
                #expect(call.name != "fsync", "\(call)")
            case .exited(1):
                // Of all steps, only the flush of the folder comes after the file has its name.
                let isFolderFlush = call.name == "fsync" && call.number > 1
                #expect(found == (isFolderFlush ? .whole : way.old == nil ? .nothing : .old), "\(call)")
            case .exited(2): #expect(call.name == "write" && found != .whole, "\(call)")
            default: Issue.record("\(call): \(run.status)")
            }
            #expect(try folder.names().filter { $0 != "out.wav" } == [], "\(call)")
        }
    }

    static let codes: [(String, [String], String)] = [
        ("unnamed", ["fsync:error=EIO:when=1"], "io_destination at publish"),
        ("unnamed", ["fsync:error=ENOSPC:when=1"], "disk_full at publish"),
        ("unnamed", ["fsync:error=EDQUOT:when=1"], "disk_full at publish"),
        ("unnamed", ["fsync:error=EIO:when=2"], "io_destination at publish"),
        ("unnamed", ["linkat:error=EROFS"], "read_only at publish"),
        ("unnamed", ["linkat:error=EPERM"], "permission_denied at publish"),
        ("unnamed", ["linkat:error=ENOENT"], "folder_not_found at publish"),
        ("unnamed", ["linkat:error=ESTALE"], "storage_unavailable at publish"),
        ("unnamed", ["linkat:error=EEXIST"], "destination_exists at publish"),
        ("hidden", ["renameat2:error=ENOSPC"], "disk_full at publish"),
        ("hidden", ["renameat2:error=EEXIST"], "destination_exists at publish"),
        // NFS and many FUSE file systems: the process links instead.
        ("hidden", ["renameat2:error=EINVAL"], "published"),
        ("hidden", ["renameat2:error=ENOSYS"], "published"),
        ("hidden", ["renameat2:error=EINVAL", "linkat:error=EPERM"], "unsupported_destination at publish"),
        ("hidden", ["renameat2:error=EINVAL", "linkat:error=EIO"], "io_destination at publish"),
        // The groups of a worker, flushed one by one or with one syncfs for the whole file system.
        ("attempt-unnamed", ["fsync:error=EIO:when=1"], "io_destination at publish"),
        // The flush of the folder after the attempt's name, and after the final name.
        ("attempt-unnamed", ["fsync:error=EIO:when=2"], "io_destination at publish"),
        ("attempt-unnamed", ["fsync:error=EIO:when=3"], "io_destination at publish"),
        ("together-unnamed", ["fsync:error=EIO:when=1"], "io_destination at publish"),
        ("together-unnamed", ["fsync:error=EIO:when=2"], "io_destination at publish"),
        ("together-unnamed", ["syncfs:error=EIO"], "published"),
        ("together-unnamed", ["syncfs:error=EIO", "fsync:error=ENOSPC:when=1"], "disk_full at publish"),
        // The kernel reports lost bytes only once, so a flush must not be repeated.
        ("together-unnamed", ["sync_file_range:error=EIO"], "io_destination at publish"),
        ("together-unnamed", ["sync_file_range:error=ENOSYS"], "published"),
        // Without /proc a file cannot be linked through its descriptor.
        ("unnamed", ["faccessat2:error=ENOENT"], "published"),
    ]

    @Test(arguments: codes)
    func refusalOfTheKernelHasItsName(mode: String, injections: [String], said: String) throws {
        let folder = try TemporaryFolder.create()
        let process = StorageProcess(destination: folder.path("out.wav"), mode: mode)
        #expect(try process.outcome(behind: Strace.words(injections)) == said)
        // Of all steps, only the flush of the folder comes after the file has its name.
        let folderFlush = mode.hasPrefix("attempt") ? "fsync:error=EIO:when=3" : "fsync:error=EIO:when=2"
        let isWhole = said == "published" || injections == [folderFlush]
        #expect(try folder.names() == (isWhole ? ["out.wav"] : []))
    }

    static let creations: [(String, String)] = [
        ("EOPNOTSUPP", "published"), ("EISDIR", "published"), ("EINVAL", "published"), ("ENOENT", "published"),
        ("EACCES", "permission_denied at open"), ("EROFS", "read_only at open"), ("ENOSPC", "disk_full at open"),
        ("EMFILE", "too_many_files at open"), ("ENFILE", "too_many_files at open"),
        ("ENOTCONN", "storage_unavailable at open"), ("EIO", "io_destination at open"), ("EINTR", "published"),
    ]

    @Test(arguments: creations)
    func unnamedFileIsDoneWithoutOrTheReasonNamed(refusal: String, said: String) throws {
        let folder = try TemporaryFolder.create()
        let process = StorageProcess(destination: folder.path("out.wav"))
        let calls = try Strace.calls(of: StorageProcess(destination: folder.path("first.wav")))
        let creation = try #require(calls.first { $0.text.contains("O_TMPFILE") })
        let injection = "openat:error=\(refusal):when=\(creation.number)"
        #expect(try process.outcome(behind: Strace.words([injection])) == said)
        #expect(try folder.names() == (said == "published" ? ["first.wav", "out.wav"] : ["first.wav"]))
    }

    /// An NFS server that carries out a request, loses its reply, and gets the request again.
    @Test func linkThatWasMadeTwiceIsOurs() throws {
        let folder = try TemporaryFolder.create()
        let output = try ready(folder.path("out.wav"), mustBeHidden: true)
        try #require(link(folder.path(".out.wav.sluice-1.part"), folder.path("out.wav")) == 0)
        #expect(try output.publish() == .published)
        #expect(try folder.names() == ["out.wav"])
    }
}
