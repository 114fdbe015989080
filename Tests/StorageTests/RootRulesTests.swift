import Conversion
import Foundation
import TestSupport
import Testing

@testable import Storage

struct RootRulesTests {
    @Test(arguments: ["ro", "wo", "create", "wo,create,ext=flac+mp3,mode=640,group=audio", "mode=600"])
    func rulesAreReadAsTheyAreWritten(text: String) throws {
        #expect(try #require(RootRules(text)).words == text)
    }

    @Test func rulesMeanWhatTheySay() throws {
        let rules = try #require(RootRules("create,ext=FLAC+mp3,mode=664"))
        #expect(rules.mayRead && rules.mayWrite && !rules.mayReplace)
        #expect(rules.extensions == ["flac", "mp3"] && rules.mode == 0o664)
        #expect(RootRules("rw") == RootRules())
    }

    @Test(arguments: [
        "", "or", "ro,wo", "ro,create", "ro,mode=640", "ext=", "ext=a++b", "ext=.flac", "ext=a/b", "mode=", "mode=8",
        "mode=1777",
        "mode=440", "ro,", "ro wo", "RO", "ro,group=audio", "group=", "group=-x", "group=a b", "group=a/b",
    ])
    func whatIsNoRuleIsRefused(text: String) { #expect(RootRules(text) == nil) }
}

/// A root whose rules forbid something.
struct GuardedRootTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder.create()
        try Bytes.write([1, 2, 3], to: folder.path("a.wav"))
    }

    private func root(_ rules: String) throws -> StorageRoot {
        try StorageRoot.open(name: "root", path: folder.path, rules: try #require(RootRules(rules)))
    }

    private func refusal(_ body: () throws -> Void) -> StorageError? {
        do {
            try body()
            return nil
        } catch {
            return error as? StorageError
        }
    }

    private func prepare(_ root: StorageRoot, _ name: String, replacing: Bool = false) throws {
        switch try root.prepareOutput(at: Location("root:\(name)"), onConflict: replacing ? .replace : .fail) {
        case .ready(let file): try file.discard()
        case .skipped: Issue.record("skipped")
        }
    }

    @Test func aReadOnlyRootTakesNoOutputAndMakesNoFolder() throws {
        let root = try root("ro")
        for name in ["b.wav", "new/b.wav"] {
            let error = try #require(refusal { try prepare(root, name) })
            #expect(error.code == .rootForbids && error.detail == "the root is read-only")
        }
        let error = try #require(refusal { try prepare(root, "a.wav", replacing: true) })
        #expect(error.code == .rootForbids)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a.wav"])
        #expect(try root.openSource(Location("root:a.wav")).byteCount == 3)
    }

    @Test func aWriteOnlyRootGivesNoSource() throws {
        let root = try root("wo")
        let error = try #require(refusal { _ = try root.openSource(Location("root:a.wav")) })
        #expect(error.code == .rootForbids && error.detail == "the root is write-only")
        try prepare(root, "b.wav")
    }

    @Test func aCreateOnlyRootReplacesNothing() throws {
        let root = try root("create")
        let error = try #require(refusal { try prepare(root, "a.wav", replacing: true) })
        #expect(error.code == .rootForbids && error.detail == "files below the root must not be replaced")
        #expect(refusal { try prepare(root, "a.wav") }?.code == .destinationExists)
        try prepare(root, "b.wav", replacing: true)
    }

    @Test func onlyTheExtensionsOfTheRootAreWritten() throws {
        let root = try root("ext=flac")
        try prepare(root, "b.FLAC")
        for name in ["b.wav", "flac", "b.", "b.flac.sh", "a.flac/b"] {
            #expect(refusal { try prepare(root, name) }?.code == .rootForbids, "\(name)")
        }
    }
}

/// The permissions of an output.
struct OutputModeTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func mode(_ source: UInt32, _ group: UInt32 = 7, created: UInt32 = 0o644, in own: UInt32 = 7) -> UInt32 {
        OutputMode.withinSources([FilePermissions(mode: source, group: group)])
            .permissions(FilePermissions(mode: created, group: own), folder: 0o777)
    }

    private func inherited(_ folder: UInt32?, _ sources: [UInt32] = []) -> UInt32 {
        OutputMode.ofFolder(within: sources.map { FilePermissions(mode: $0, group: 7) })
            .permissions(FilePermissions(mode: 0o640, group: 7), folder: folder)
    }

    @Test func outputIsAsOpenAsItsFolderAndItsSources() {
        #expect(inherited(0o755) == 0o644)
        #expect(inherited(0o42775) == 0o664)
        #expect(inherited(0o770) == 0o660)
        #expect(inherited(0o711) == 0o600, "who may not list the folder reads nothing")
        #expect(inherited(0o1777) == 0o664, "others never write")
        #expect(inherited(0o555) == 0o644)
        #expect(inherited(nil) == 0o640, "an access list has decided")
        #expect(inherited(0o775, [0o640, 0o644]) == 0o640)
        #expect(inherited(0o775, [0o400]) == 0o600)
    }

    @Test func outputGrantsNoMoreThanItsSource() {
        #expect(mode(0o644) == 0o644)
        #expect(mode(0o640) == 0o640)
        #expect(mode(0o600) == 0o600)
        #expect(mode(0o400) == 0o600, "the owner must be able to finish it")
        #expect(mode(0o666, created: 0o640) == 0o640, "the umask counts as well")
        // The output belongs to another group than the source.
        #expect(mode(0o640, 7, in: 8) == 0o600)
        #expect(mode(0o644, 7, in: 8) == 0o644)
        #expect(mode(0o604, 7, in: 8) == 0o640, "the source's group would be among the others")
    }

    @Test(
        arguments: [(0o600, nil, 0o600), (0o444, nil, 0o644), (0o600, "mode=664", 0o664)] as [(UInt32, String?, UInt32)]
    )
    func anOutputHasItsModeBeforeItHasItsName(source: UInt32, rules: String?, expected: UInt32) throws {
        try Bytes.write([1], to: folder.path("a.wav"))
        #expect(chmod(folder.path("a.wav"), source) == 0)
        #expect(chmod(folder.path, 0o755) == 0)
        let root = try StorageRoot.open(
            name: "root",
            path: folder.path,
            rules: try rules.map { try #require(RootRules($0)) } ?? RootRules()
        )
        let file = try root.openSource(Location("root:a.wav"))
        for isHidden in [false, true] {
            let name = "\(isHidden).flac"
            switch try root.prepareOutput(
                at: Location("root:\(name)"),
                onConflict: .fail,
                sources: [file.identity],
                permissions: file.permissions.map { [$0] } ?? [],
                mustBeHidden: isHidden
            ) {
            case .skipped: Issue.record("skipped")
            case .ready(let output):
                #expect(FileFacts.of(output.descriptor)?.permissions.mode == expected)
                #expect(try output.publish() == .published)
            }
            #expect(FileFacts.of(folder.path(name), followingLinks: false)?.permissions.mode == expected)
        }
    }
}
