import Conversion
import Foundation
import Storage
import TestSupport
import Testing

/// Both ways to stay below a root: openat2 in the kernel, and step by step without it.
@Suite(.serialized)
struct StorageRootTests {
    let outside: TemporaryFolder
    let folder: TemporaryFolder

    init() throws {
        outside = try TemporaryFolder.create()
        folder = try TemporaryFolder.create()
        try Bytes.write(Array("secret".utf8), to: outside.path("secret"))
        try #require(mkdir(folder.path("sub"), 0o755) == 0)
        try Bytes.write(Array("sound".utf8), to: folder.path("sub/a.wav"))
    }

    private func root(_ withoutOpenat2: Bool) throws -> StorageRoot {
        try StorageRoot.open(name: "root", path: folder.path, withoutOpenat2: withoutOpenat2)
    }

    private func code(_ root: StorageRoot, _ location: String) throws -> FailureCode? {
        let location = try Location(location)
        do {
            _ = try root.openSource(location)
            return nil
        } catch {
            return error.code
        }
    }

    @Test(arguments: [false, true])
    func sourceBelowTheRootIsOpened(withoutOpenat2: Bool) throws {
        let root = try root(withoutOpenat2)
        #expect(try root.openSource(Location("root:sub/a.wav")).byteCount == 5)
        #expect(try code(root, "root:sub/none") == .sourceNotFound)
        #expect(try code(root, "root:none/a.wav") == .sourceNotFound)
        #expect(try code(root, "root:sub/a.wav/b") == .sourceNotFound)
        #expect(try code(root, "root:sub") == .notAFile)
        #expect(try code(root, "other:sub/a.wav") == .unknownRoot)
        try #require(mkfifo(folder.path("pipe"), 0o600) == 0)
        #expect(try code(root, "root:pipe") == .notAFile)
    }

    @Test(arguments: [false, true])
    func noLinkLeadsOut(withoutOpenat2: Bool) throws {
        let root = try root(withoutOpenat2)
        let links = [
            "absolute": outside.path("secret"), "folder": outside.path, "slash": "/", "magic": "/proc/self/cwd",
            "up": "../\(outside.path.split(separator: "/").last ?? "")/secret", "sub/twice": "../absolute",
            "self": "/proc/self/fd/0",
        ]
        for (name, target) in links { try #require(symlink(target, folder.path(name)) == 0) }
        for name in links.keys { #expect(try code(root, "root:\(name)") == .outsideRoot, "\(name)") }
        for place in ["folder/secret", "slash/etc/passwd", "magic/Package.swift"] {
            #expect(try code(root, "root:\(place)") == .outsideRoot, "\(place)")
            let location = try Location("root:\(place)")
            let error = #expect(throws: StorageError.self) {
                switch try root.prepareOutput(at: location, onConflict: .replace) {
                case .ready: return
                case .skipped: return
                }
            }
            #expect(error?.code == .outsideRoot, "\(place)")
        }
        #expect(try outside.names() == ["secret"])
    }

    /// To Swift a slash and a combining mark after it are one character, which is not a slash. The kernel would
    /// follow the link.
    @Test(arguments: [false, true])
    func noNameHidesASlash(withoutOpenat2: Bool) throws {
        let root = try root(withoutOpenat2)
        try #require(symlink(outside.path, folder.path("away")) == 0)
        try Bytes.write([1], to: outside.path("\u{301}a"))
        #expect(try code(root, "root:away/\u{301}a") == .outsideRoot)
        for name in ["away/\u{301}b", "away/\u{301}new/b"] {
            let location = try Location("root:\(name)")
            let error = #expect(throws: StorageError.self) {
                switch try root.prepareOutput(at: location, onConflict: .replace) {
                case .ready: return
                case .skipped: return
                }
            }
            #expect(error?.code == .outsideRoot, "\(name)")
        }
        #expect(try outside.names().count == 2)
        // A name may begin with such a mark, also that of a folder that the root creates.
        let location = try Location("root:new/\u{301}x/\u{301}y.flac")
        switch try root.prepareOutput(at: location, onConflict: .fail) {
        case .ready(let output): try output.discard()
        case .skipped: Issue.record("it is skipped")
        }
        #expect(FileManager.default.fileExists(atPath: folder.path("new/\u{301}x")))
    }

    @Test func linksThatStayBelowAreFollowedByTheKernelAndRefusedStepByStep() throws {
        try #require(symlink("sub/a.wav", folder.path("inside")) == 0)
        #expect(try code(root(false), "root:inside") == nil)
        #expect(try code(root(true), "root:inside") == .outsideRoot)
    }

    @Test(arguments: [false, true])
    func folderThatIsSwappedForALinkNeverLeadsOut(withoutOpenat2: Bool) throws {
        let root = try root(withoutOpenat2)
        try #require(mkdir(folder.path("real"), 0o755) == 0)
        try Bytes.write(Array("ours".utf8), to: folder.path("real/secret"))
        try #require(symlink(outside.path, folder.path("link")) == 0)
        let secret = try SourceFile.open(outside.path("secret")).identity
        let location = try Location("root:real/secret")
        let folder = folder
        let outcomes = Outcomes()
        // Runs until both results have come often, or something is wrong.
        let deadline = ContinuousClock.now + .seconds(600)
        let isOver: @Sendable () -> Bool = {
            outcomes["led out"] > 0 || (outcomes["ours"] >= 500 && outcomes["outside_root"] >= 500)
                || ContinuousClock.now > deadline
        }
        inThreads(2) { side in
            while !isOver() {
                if side == 0 {
                    // Exchanges the two names atomically.
                    _ = exchange(folder.path("real"), folder.path("link"))
                } else {
                    outcomes.note {
                        try root.openSource(location).identity == secret ? "led out" : "ours"
                    }
                }
            }
        }
        #expect(outcomes.counts["led out"] == nil)
        #expect(Set(outcomes.counts.keys).isSubset(of: ["ours", "outside_root", "source_not_found"]))
        #expect(outcomes["ours"] >= 500 && outcomes["outside_root"] >= 500)
    }

    @Test(arguments: [false, true], bothModes)
    func missingFoldersAreCreatedBelow(withoutOpenat2: Bool, hidden: Bool) throws {
        let root = try root(withoutOpenat2)
        let location = try Location("root:new/deep/er/out.wav")
        switch try root.prepareOutput(at: location, onConflict: .fail, mustBeHidden: hidden) {
        case .skipped: Issue.record("it was skipped")
        case .ready(let output): #expect(try output.publish() == .published)
        }
        #expect(try Bytes.size(of: folder.path("new/deep/er/out.wav")) == 0)
        try Bytes.write([], to: folder.path("file"))
        let below = try Location("root:file/out.wav")
        let error = #expect(throws: StorageError.self) {
            switch try root.prepareOutput(at: below, onConflict: .fail) {
            case .ready: return
            case .skipped: return
            }
        }
        #expect(error?.code == .folderNotFound)
    }

    @Test func manyMayCreateTheSameFolders() throws {
        let root = try root(false)
        let outcomes = Outcomes()
        inThreads(8) { number in
            outcomes.note {
                let location = try Location("root:a/b/c/d/\(number)")
                switch try root.prepareOutput(at: location, onConflict: .fail) {
                case .skipped: return "skipped"
                case .ready(let output): return try output.publish(durably: false).rawValue
                }
            }
        }
        #expect(outcomes.counts == ["published": 8])
    }

    @Test func linkAsDestinationIsRefused() throws {
        try #require(symlink("a.wav", folder.path("sub/link")) == 0)
        let root = try root(false)
        let location = try Location("root:sub/link")
        let error = #expect(throws: StorageError.self) {
            switch try root.prepareOutput(at: location, onConflict: .replace) {
            case .ready: return
            case .skipped: return
            }
        }
        #expect(error?.code == .notAFile)
    }

    /// An unmounted share leaves another folder in its place.
    @Test func lostRootIsNotAMissingSource() throws {
        let root = try root(false)
        try root.check()
        let aside = folder.path + "-aside"
        try #require(rename(folder.path, aside) == 0)
        defer { rename(aside, folder.path) }
        #expect(try code(root, "root:none") == .storageUnavailable)
        try #require(mkdir(folder.path, 0o755) == 0)
        defer { rmdir(folder.path) }
        #expect(try code(root, "root:none") == .storageUnavailable)
    }

    @Test func rootsAreFoundByName() throws {
        let roots = try StorageRoots([root(false)])
        #expect(try roots.root(of: Location("root:a")).name == "root")
        let location = try Location("other:a")
        let error = #expect(throws: StorageError.self) { try roots.root(of: location) }
        #expect(error?.code == .unknownRoot)
        #expect(error?.failure.kind == .infrastructure)
        let twice = [try root(false), try root(false)]
        #expect(throws: StorageError.self) { try StorageRoots(twice) }
        #expect(throws: StorageError.self) { try StorageRoot.open(name: "s3", path: "/") }
        #expect(throws: StorageError.self) { try StorageRoot.open(name: "root", path: "/no/such") }
    }
}

/// Exchanges two names (RENAME_EXCHANGE). Swift's module of the C library hides the call.
private func exchange(_ one: String, _ other: String) -> Int32 {
    typealias Renameat2 = @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32
    guard let address = dlsym(nil, "renameat2") else { preconditionFailure("this glibc has no renameat2") }
    return unsafeBitCast(address, to: Renameat2.self)(AT_FDCWD, one, AT_FDCWD, other, 2)
}
