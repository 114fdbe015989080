import Conversion
import Foundation
import Storage
import TestSupport
import Testing

/// Refusals that come before any work is done.
struct DestinationRefusalTests {
    let folder: TemporaryFolder
    let path: String

    init() throws {
        folder = try TemporaryFolder.create()
        path = folder.path("out.wav")
    }

    @Test(arguments: Recipe.ConflictPolicy.allCases)
    func sourceIsNeverTheDestination(policy: Recipe.ConflictPolicy) throws {
        try Bytes.write(Array("source".utf8), to: path)
        let source = try SourceFile.open(path)
        try #require(symlink("out.wav", folder.path("link")) == 0)
        try #require(link(path, folder.path("hard")) == 0)
        for name in ["out.wav", "./out.wav", "link", "hard"] {
            let error = try #require(refusal(folder.path(name), policy, source: source.identity))
            #expect(error.code == .destinationIsSource)
        }
        #expect(try text(path) == "source")
    }

    @Test(arguments: Recipe.ConflictPolicy.allCases)
    func onlyFilesAreDestinations(policy: Recipe.ConflictPolicy) throws {
        try #require(mkdir(folder.path("folder"), 0o755) == 0)
        try #require(mkfifo(folder.path("pipe"), 0o600) == 0)
        try #require(symlink("/dev/null", folder.path("nowhere")) == 0)
        for place in ["folder", "folder/", "pipe", "nowhere", ".", ".."].map(folder.path) + ["/dev/null", "/", "."] {
            #expect(refusal(place, policy)?.code == .notAFile, "\(place)")
        }
    }

    @Test func impossiblePathsAreRefused() throws {
        #expect(refusal("")?.code == .invalidPath)
        #expect(refusal(folder.path("a\0b"))?.code == .invalidPath)
        #expect(refusal(folder.path(String(repeating: "n", count: 256)))?.code == .invalidPath)
        #expect(try folder.names() == [])
    }

    @Test func missingFolderIsNamed() throws {
        let error = try #require(refusal(folder.path("no/out.wav")))
        #expect(error.code == .folderNotFound)
        #expect(error.errnoName == "ENOENT")
        try Bytes.write([], to: folder.path("file"))
        #expect(refusal(folder.path("file/out.wav"))?.code == .folderNotFound)
    }

    @Test func folderWithoutPermissionIsRefused() throws {
        try #require(chmod(folder.path, 0o555) == 0)
        defer { chmod(folder.path, 0o755) }
        // Root may write everywhere unless it drops its capabilities.
        let asAnybody = geteuid() == 0 ? ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] : []
        #expect(try StorageProcess(destination: path).outcome(behind: asAnybody) == "permission_denied at open")
    }

    @Test func folderThatCannotBeReadIsGoodEnough() throws {
        try #require(chmod(folder.path, 0o333) == 0)
        let asAnybody = geteuid() == 0 ? ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] : []
        #expect(try StorageProcess(destination: path).outcome(behind: asAnybody) == "published")
        try #require(chmod(folder.path, 0o755) == 0)
        #expect(try folder.names() == ["out.wav"])
    }

    @Test(arguments: ["022", "027", "077", "000"], ["unnamed", "hidden"])
    func permissionsAreAsTheUmaskWants(umask: String, mode: String) throws {
        let process = StorageProcess(destination: path, mode: mode)
        #expect(try process.outcome(behind: ["sh", "-c", "umask \(umask); exec \"$@\"", "sh"]) == "published")
        var facts = stat()
        try #require(stat(path, &facts) == 0)
        #expect(facts.st_mode & 0o777 == 0o666 & ~(try #require(mode_t(umask, radix: 8))))
    }

    // MARK: - Links

    @Test(arguments: bothModes)
    func replacingThroughLinkKeepsTheLink(hidden: Bool) throws {
        try #require(mkdir(folder.path("disk"), 0o755) == 0)
        try Bytes.write(Array("old".utf8), to: folder.path("disk/target"))
        try #require(symlink("disk/second", folder.path("first")) == 0)
        try #require(symlink("target", folder.path("disk/second")) == 0)
        #expect(refusal(folder.path("first"))?.code == .destinationExists)
        #expect(try isSkipped(folder.path("first")))
        _ = try ready(folder.path("first"), .replace, mustBeHidden: hidden).publish()
        #expect(try text(folder.path("disk/target")) == "new")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.path("first")) == "disk/second")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("disk")).count == 2)
    }

    @Test func linkToNothingTakesTheNameAndIsFilled() throws {
        try #require(symlink("later", path) == 0)
        #expect(refusal(path)?.code == .destinationExists)
        #expect(try isSkipped(path))
        _ = try ready(path, .replace).publish()
        #expect(try text(folder.path("later")) == "new")
        #expect(try folder.names() == ["later", "out.wav"])
    }

    @Test(arguments: Recipe.ConflictPolicy.allCases)
    func linksInACircleAreRefused(policy: Recipe.ConflictPolicy) throws {
        try #require(symlink("b", folder.path("a")) == 0)
        try #require(symlink("a", folder.path("b")) == 0)
        #expect(refusal(folder.path("a"), policy)?.code == .invalidPath)
    }
}
