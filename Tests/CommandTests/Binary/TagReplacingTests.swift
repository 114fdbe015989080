import Foundation
import System
import TestSupport
import Testing

/// `sluice tags` puts a new file in the place of the old one: whole or not at all, and with all that was not to change.
struct TagReplacingTests {
    private let material: Material

    /// Makes `song.flac`.
    init() throws {
        material = try Material()
        try FFmpeg.encode(material.path("talk.wav"), to: material.path("song.flac"), ["-metadata", "title=One"])
    }

    private var song: String { material.path("song.flac") }

    private func tags(_ words: String...) throws -> Run { try Sluice.run(["tags"] + words, in: material.folder) }

    private func mode() throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: song)[.posixPermissions] as? Int
    }

    /// Expects that there is nothing beside the song, and what the song's title is.
    private func expectNothingElse(title: String, besides others: [String] = []) throws {
        #expect(try material.folder.names().sorted() == (["song.flac", "talk.wav"] + others).sorted())
        let found = try FFmpeg.probe(song).tags
        #expect(found.contains { $0.key.lowercased() == "title" && $0.value == title }, "\(found)")
    }

    // MARK: What stays

    @Test func attributesAndAccessListsStay() throws {
        // The user 12,345 may read and write, and the group may not.
        let list = AccessList.bytes(owner: 6, user: 6, group: 0)
        let wanted: [(name: String, value: [UInt8])] = [
            ("user.rating", [5]), ("system.posix_acl_access", list),
        ]
        let before = open(song, O_RDWR)
        defer { close(before) }
        for (name, value) in wanted { try #require(SystemCall.setAttribute(name, of: before, to: value) == 0) }
        try tags("--set", "title=Two", "song.flac").checked()
        let after = open(song, O_RDONLY)
        defer { close(after) }
        for (name, value) in wanted { #expect(SystemCall.attribute(name, of: after) == value, "\(name)") }
        #expect(try mode() == 0o660)
        try expectNothingElse(title: "Two")
    }

    /// They have the old contents, as documented.
    @Test func hardLinksKeepTheOldFile() throws {
        let bytes = try Bytes.read(song)
        try FileManager.default.linkItem(atPath: song, toPath: material.path("link.flac"))
        try tags("--set", "title=Two", "song.flac").checked()
        #expect(try Bytes.read(material.path("link.flac")) == bytes)
        try expectNothingElse(title: "Two", besides: ["link.flac"])
    }

    // MARK: Refusals

    @Test func readOnlyFilesAreRefused() throws {
        let bytes = try Bytes.read(song)
        try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: song)
        let run = try tags("--set", "title=Two", "song.flac")
        #expect(run.status == .exited(6) && run.errorText.contains("code permission_denied"), "\(run.errorText)")
        #expect(try Bytes.read(song) == bytes && mode() == 0o444)
        // What has the tags already need not be written.
        try tags("--set", "title=One", "song.flac").checked()
    }

    /// All users may write to this file, but the new one would belong to the user who changes it.
    @Test(.enabled(if: geteuid() == 0, "only root can act as another user")) func ownersStay() throws {
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: material.folder.path)
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: song)
        let bytes = try Bytes.read(song)
        func change(_ words: String...) throws -> Run {
            let user = ["--reuid=65534", "--regid=65534", "--clear-groups", Sluice.path, "tags", "--set", "title=Two"]
            return try Run.program(
                "setpriv",
                user + words + ["song.flac"],
                environment: Sluice.environment(),
                folder: material.folder.path
            )
        }
        let run = try change()
        #expect(run.status == .exited(1) && run.errorText.contains("code loss_refused"), "\(run.errorText)")
        #expect(run.errorText.contains("its owner, its group") && run.errorText.contains("--allow-loss"))
        #expect(try Bytes.read(song) == bytes)
        try change("--allow-loss").checked()
        let facts = try FileManager.default.attributesOfItem(atPath: song)
        #expect(facts[.ownerAccountID] as? Int == 65534)
        // Root can keep the owner of any file.
        try tags("--set", "title=Three", "song.flac").checked()
        let kept = try FileManager.default.attributesOfItem(atPath: song)
        #expect(kept[.ownerAccountID] as? Int == 65534 && kept[.groupOwnerAccountID] as? Int == 65534)
        try expectNothingElse(title: "Three")
    }

    // MARK: Meanwhile

    @Test func secondChangeAtOnceIsRefused() throws {
        let run = try Sluice.shell("flock song.flac $SLUICE tags --set title=Two song.flac", in: material.folder)
        #expect(run.status == .exited(1) && run.errorText.contains("code source_changed"), "\(run.errorText)")
        try expectNothingElse(title: "One")
        try tags("--set", "title=Two", "song.flac").checked()
    }

    /// Of other programs, during the flush of the new file, which strace makes long.
    @Test(arguments: ["printf x >> song.flac", "cp song.flac new && mv new song.flac", "chmod 600 song.flac"])
    func changesMeanwhileAreNotUndone(change: String) throws {
        let bytes = try Bytes.read(song)
        let line = """
            strace -f -qq -o trace -e trace=fsync -e inject=fsync:delay_enter=5000000:when=1 \
            $SLUICE tags --set title=Two song.flac &
            # strace says that the flush has begun before it delays it.
            while kill -0 $! && ! grep -q fsync trace; do sleep 0.01; done 2>/dev/null
            \(change)
            wait $!
            """
        let run = try Sluice.shell(line, in: material.folder)
        #expect(run.status == .exited(1) && run.errorText.contains("code source_changed"), "\(run.errorText)")
        #expect(try Bytes.read(song) == bytes + (change.contains("printf") ? Array("x".utf8) : []))
        #expect(try !change.contains("chmod") || mode() == 0o600)
        try expectNothingElse(title: "One", besides: ["trace"])
    }

    /// Between the two names that the new file gets.
    @Test func killLeavesTheOldFileWhole() throws {
        let bytes = try Bytes.read(song)
        let line = """
            strace -f -qq -o /dev/null -e 'inject=?renameat,?renameat2:signal=KILL' \
            $SLUICE tags --set title=Two song.flac
            """
        let run = try Sluice.shell(line, in: material.folder)
        #expect(!run.succeeded)
        #expect(try Bytes.read(song) == bytes)
        // The next run removes what is left.
        try tags("--set", "title=Three", "song.flac").checked()
        try expectNothingElse(title: "Three")
    }

    @Test func fullDiskLeavesTheOldFileWhole() throws {
        let asRoot = geteuid() == 0 ? [] : ["--user", "--map-root-user"]
        // Room for the song and two pages more.
        let script = """
            pages=$(($(stat -c %s song.flac) / 4096 + 3))
            mkdir disk
            mount -t tmpfs -o size=$((pages * 4096)) tmpfs disk
            cp song.flac disk
            cd disk
            code=0
            "$0" tags --set title=Two song.flac || code=$?
            cmp song.flac ../song.flac >&2
            ls -A >&2
            exit $code
            """
        let run = try Run.program(
            "unshare",
            ["--mount"] + asRoot + ["bash", "-ec", script, Sluice.path],
            environment: Sluice.environment(),
            folder: material.folder.path
        )
        #expect(run.status != .exited(0) && run.errorText.contains("code disk_full"), "\(run.errorText)")
        #expect(run.errorText.hasSuffix("\nsong.flac\n") && !run.errorText.contains("differ"), "\(run.errorText)")
    }
}
