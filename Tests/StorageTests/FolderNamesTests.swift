import Conversion
import Foundation
import Storage
import TestSupport
import Testing

/// What a person who names sources is offered of a folder.
struct FolderNamesTests {
    private let outside: TemporaryFolder
    private let folder: TemporaryFolder

    init() throws {
        (outside, folder) = (try TemporaryFolder.create(), try TemporaryFolder.create())
        for name in ["2025", "2026", "2026/live"] { try #require(mkdir(folder.path(name), 0o755) == 0) }
        for name in ["a.wav", "b.flac", "ä.wav", ".hidden", ".a.wav.sluice-1.part", "2026/c.wav"] {
            try Bytes.write([], to: folder.path(name))
        }
    }

    private func root(_ withoutOpenat2: Bool = false, _ rules: RootRules = RootRules()) throws -> StorageRoot {
        try StorageRoot.open(name: "root", path: folder.path, rules: rules, withoutOpenat2: withoutOpenat2)
    }

    private func names(_ path: String = "", _ beginning: String = "", most: Int = 100) throws -> FolderNames {
        try root().names(in: path, beginningWith: beginning, most: most)
    }

    @Test func filesAndFoldersAreNamedInTheirOrder() throws {
        #expect(try names() == FolderNames(names: ["2025/", "2026/", "a.wav", "b.flac", "ä.wav"], hasMore: false))
        #expect(try names("2026").names == ["c.wav", "live/"])
        #expect(try names("2026/live") == FolderNames())
        #expect(try names("", "202").names == ["2025/", "2026/"])
        #expect(try names("", "ä").names == ["ä.wav"])
        #expect(try names("", ".").names == [])
        let some = try root().names(in: "", beginningWith: "", most: 100) { $0.hasSuffix(".wav") }
        #expect(some.names == ["a.wav", "ä.wav"])
    }

    @Test func ofManyTheFirstAreNamed() throws {
        #expect(try names(most: 2) == FolderNames(names: ["2025/", "2026/"], hasMore: true))
        #expect(try !names(most: 5).hasMore)
    }

    @Test(arguments: [false, true])
    func linksAreNamedIfTheyStayBelowTheRoot(withoutOpenat2: Bool) throws {
        try Bytes.write([], to: outside.path("secret.wav"))
        let links = [
            "l-file": "a.wav", "l-folder": "2026", "l-out": outside.path("secret.wav"), "l-gone": "none",
            "l-null": "/dev/null",
        ]
        for (name, target) in links { try #require(symlink(target, folder.path(name)) == 0) }
        try #require(mkfifo(folder.path("l-pipe"), 0o600) == 0)
        let found = try root(withoutOpenat2).names(in: "", beginningWith: "l-", most: 100)
        // Without the kernel's help no link is followed, and so none can be a source.
        #expect(found.names == (withoutOpenat2 ? [] : ["l-file", "l-folder/"]))
    }

    @Test func nothingIsToldOfOtherFolders() throws {
        try #require(symlink(outside.path, folder.path("out")) == 0)
        for path in ["out", "none", "a.wav", "../"] {
            #expect(throws: StorageError.self, "\(path)") { _ = try names(path) }
        }
        let writeOnly = try root(false, #require(RootRules("wo")))
        let error = try #require(throws: StorageError.self) {
            _ = try writeOnly.names(in: "", beginningWith: "", most: 100)
        }
        #expect(error.code == .rootForbids)
    }

    @Test func namesThatNoLocationCanHaveAreLeftOut() throws {
        for name in ["line\nbreak.wav", "\u{7F}.wav"] { try Bytes.write([], to: folder.path(name)) }
        let raw: [CChar] = Array((folder.path + "/").utf8CString.dropLast()) + [-1, 0]
        let descriptor = open(raw, O_CREAT | O_WRONLY, 0o600)
        try #require(descriptor >= 0)
        close(descriptor)
        #expect(try names().names == ["2025/", "2026/", "a.wav", "b.flac", "ä.wav"])
    }
}
