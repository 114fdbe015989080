import Conversion
import Foundation
import Storage
import TestSupport
import Testing

/// Several outputs of one conversion, published together.
struct OutputSetTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func set(
        _ names: [String],
        _ policy: Recipe.ConflictPolicy,
        hidden: Bool
    ) throws -> OutputSet {
        var set = OutputSet()
        for name in names { set.add(try ready(folder.path(name), policy, mustBeHidden: hidden)) }
        return set
    }

    /// Publishes a set that must not be published.
    private func refusal(_ set: consuming OutputSet) -> StorageError? {
        do throws(StorageError) {
            _ = try set.publish()
            return nil
        } catch {
            return error
        }
    }

    private func put(_ name: String) throws { try Bytes.write(Array("old".utf8), to: folder.path(name)) }

    @Test(arguments: bothModes, Recipe.ConflictPolicy.allCases)
    func allAppearAtOnce(hidden: Bool, policy: Recipe.ConflictPolicy) throws {
        let set = try set(["a", "b", "c"], policy, hidden: hidden)
        #expect(try folder.names().allSatisfy { $0.hasPrefix(".") })
        #expect(try set.publish() == [.published, .published, .published])
        #expect(try folder.names() == ["a", "b", "c"])
        for name in ["a", "b", "c"] { #expect(try text(folder.path(name)) == "new") }
    }

    @Test(arguments: bothModes)
    func droppedTheyLeaveNothing(hidden: Bool) throws {
        do { _ = try set(["a", "b"], .fail, hidden: hidden) }
        #expect(try folder.names() == [])
    }

    @Test(arguments: bothModes)
    func aNameThatIsTakenMeanwhileStopsAll(hidden: Bool) throws {
        let set = try set(["a", "b", "c"], .fail, hidden: hidden)
        try put("b")
        let error = refusal(set)
        #expect(error?.code == .destinationExists && error?.stage == .publish)
        #expect(try folder.names() == ["b"])
        #expect(try text(folder.path("b")) == "old")
    }

    @Test(arguments: bothModes)
    func aNameThatIsTakenMeanwhileIsSkipped(hidden: Bool) throws {
        let set = try set(["a", "b", "c"], .skip, hidden: hidden)
        try put("b")
        #expect(try set.publish() == [.published, .skipped, .published])
        #expect(try folder.names() == ["a", "b", "c"])
        #expect(try text(folder.path("b")) == "old")
    }

    @Test(arguments: bothModes)
    func whatExistsIsReplaced(hidden: Bool) throws {
        for name in ["a", "b"] { try put(name) }
        let set = try set(["a", "b", "c"], .replace, hidden: hidden)
        #expect(try set.publish() == [.published, .published, .published])
        #expect(try folder.names() == ["a", "b", "c"])
        for name in ["a", "b", "c"] { #expect(try text(folder.path(name)) == "new") }
    }

    @Test(arguments: bothModes)
    func aFolderInTheWayStopsAllReplacements(hidden: Bool) throws {
        try put("a")
        let set = try set(["a", "b"], .replace, hidden: hidden)
        try FileManager.default.createDirectory(atPath: folder.path("b"), withIntermediateDirectories: false)
        let error = refusal(set)
        #expect(error?.code == .notAFile)
        #expect(try folder.names() == ["a", "b"])
        #expect(try text(folder.path("a")) == "old")
    }

    // MARK: - Killed and refused

    private static let modes = ["set-unnamed", "set-hidden"]

    private enum Found: Equatable { case nothing, old, whole, torn }

    /// The state of both destinations.
    private func found(_ process: StorageProcess) throws -> [Found] {
        try ["", "2"].map { ending in
            guard FileManager.default.fileExists(atPath: process.destination + ending) else { return .nothing }
            let bytes = try Bytes.read(process.destination + ending)
            if bytes.count == process.byteCount, bytes.allSatisfy({ $0 == process.byte }) { return .whole }
            return bytes == Array("old".utf8) ? .old : .torn
        }
    }

    private func fresh(_ mode: String, replacing: Bool) throws -> (TemporaryFolder, StorageProcess) {
        let folder = try TemporaryFolder.create()
        var process = StorageProcess(
            destination: folder.path("out"),
            policy: replacing ? "replace" : "fail",
            mode: mode
        )
        process.byteCount = 10_000
        if replacing { for name in ["out", "out2"] { try Bytes.write(Array("old".utf8), to: folder.path(name)) } }
        return (folder, process)
    }

    private func calls(_ mode: String, replacing: Bool) throws -> [Strace.Call] {
        let (folder, process) = try fresh(mode, replacing: replacing)
        return try withExtendedLifetime(folder) { try Strace.calls(of: process) }
    }

    /// Only between the two names does a kill leave one without the other, and never a part of one.
    @Test(arguments: modes, [false, true])
    func killedAnywhereEachIsAsBeforeOrWhole(mode: String, replacing: Bool) throws {
        let before: Found = replacing ? .old : .nothing
        var seen: [[Found]] = []
        for call in try calls(mode, replacing: replacing) {
            let (folder, process) = try fresh(mode, replacing: replacing)
            let run = try process.run(behind: Strace.words(["\(call.name):signal=SIGKILL:when=\(call.number)"]))
            if call.name == "exit_group" || call.text.hasPrefix("write(1,") { continue }
            #expect(run.status == .signalled(SIGKILL), "\(call)")
            let found = try found(process)
            #expect(found.allSatisfy { $0 == before || $0 == .whole }, "\(call)")
            seen.append(found)
            withExtendedLifetime(folder) {}
        }
        #expect(seen.first == [before, before] && seen.last == [.whole, .whole])
        #expect(seen.contains([.whole, before]), "the kills cover the step between the two names")
    }

    @Test(arguments: modes, ["EIO", "ENOSPC"])
    func refusedAnywhereAllAppearOrNone(mode: String, refusal: String) throws {
        let others: Set = ["brk", "mmap", "munmap", "mprotect", "futex", "exit_group"]
        for call in try calls(mode, replacing: false)
        where !call.text.hasPrefix("write(1,") && !others.contains(call.name) {
            let (folder, process) = try fresh(mode, replacing: false)
            let run = try process.run(behind: Strace.words(["\(call.name):error=\(refusal):when=\(call.number)"]))
            let said = run.outputText.trimmingCharacters(in: .whitespacesAndNewlines)
            let found = try found(process)
            switch run.status {
            case .exited(0): #expect(said == "published published" && found == [.whole, .whole], "\(call)")
            case .exited(1):
                // Of all steps, only the flush of the folder comes after the names.
                let isFolderFlush = call.name == "fsync" && call.number > 2
                #expect(found == (isFolderFlush ? [.whole, .whole] : [.nothing, .nothing]), "\(call)")
            case .exited(2): #expect(call.name == "write" && found == [.nothing, .nothing], "\(call)")
            default: Issue.record("\(call): \(run.status)")
            }
            #expect(try folder.names().filter { !$0.hasPrefix("out") } == [], "\(call)")
        }
    }
}
